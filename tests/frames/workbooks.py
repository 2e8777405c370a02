"""Workbooks of Excel, written by hand: a cell may be an error or a formula without a value."""

import datetime as dt
import zipfile
from xml.sax.saxutils import escape

_NS = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_STYLES = f"""<styleSheet {_NS}><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>
</styleSheet>"""


class Raw(str):
    """A cell as it is to stand in the file, without its address."""

    __slots__ = ()


ERROR = Raw('t="e"><v>#DIV/0!</v>')
UNCOMPUTED = Raw("><f>A2+1</f><v></v>")
COMPUTED = Raw("><f>1+1</f><v>2</v>")


def _cell(value, address):
    if isinstance(value, Raw):
        return f'<c r="{address}" {value}</c>'
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{address}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, dt.date):
        return f'<c r="{address}" s="1"><v>{(value - dt.date(1899, 12, 30)).days}</v></c>'
    if isinstance(value, str):
        return f'<c r="{address}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{address}"><v>{value}</v></c>'


def _sheet(rows, merged):
    lines = []
    for r, row in enumerate(rows, 1):
        cells = "".join(_cell(value, f"{chr(65 + c)}{r}") for c, value in enumerate(row))
        lines.append(f'<row r="{r}">{cells}</row>')
    spans = f'<mergeCells count="1"><mergeCell ref="{merged}"/></mergeCells>' if merged else ""
    return f"<worksheet {_NS}><sheetData>{''.join(lines)}</sheetData>{spans}</worksheet>"


def write_workbook(path, sheets, merged=None):
    """Write {name of a sheet: rows of cells}."""
    listed, links, types = [], [], []
    with zipfile.ZipFile(path, "w") as archive:
        for i, (name, rows) in enumerate(sheets.items(), 1):
            archive.writestr(f"xl/worksheets/sheet{i}.xml", _sheet(rows, merged))
            listed.append(f'<sheet name="{escape(name)}" sheetId="{i}" r:id="rId{i}"/>')
            links.append(
                f'<Relationship Id="rId{i}" Type="{_REL}/worksheet" '
                f'Target="worksheets/sheet{i}.xml"/>'
            )
            types.append(
                f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="application/'
                'vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
            )
        links.append(f'<Relationship Id="s" Type="{_REL}/styles" Target="styles.xml"/>')
        archive.writestr("xl/styles.xml", _STYLES)
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook {_NS} xmlns:r="{_REL}"><sheets>{"".join(listed)}</sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{_PACKAGE}/relationships">{"".join(links)}</Relationships>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{_REL}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{_PACKAGE}/content-types">{"".join(types)}</Types>',
        )
    return path
