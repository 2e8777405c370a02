"""Column words: what words in the names of columns mean, in thirteen languages; one table.

A name is taken apart where its signs, its capitals and its digits say so: `C1_Edad` has the word
`edad`. Small letters, without accents, stand for all. Chinese and Japanese write no blanks: of them
a word of the table is one wherever it stands; `患者年齢` has `年齢`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

# Each line is of one language, in this order: English, German, Spanish, French, Portuguese,
# Italian, Dutch, Polish, Russian, Arabic, Hindi, Chinese, Japanese.
_TABLE = {
    "age": """
        age ages agegroup agegrp ageband
        alter lebensalter altersgruppe altersklasse
        edad edades
        âge tranchedage
        idade faixaetaria
        età
        leeftijd
        wiek
        возраст возраста
        العمر السن
        आयु उम्र umra
        年龄 年齡 岁数
        年齢 年令 年代
    """,
    "sex": """
        sex gender female male
        geschlecht
        sexo género
        sexe
        gênero
        sesso
        geslacht
        płeć
        пол гендер
        الجنس
        लिंग ling
        性别 性別
        性別
    """,
    "birth": """
        birthday birthdate birthyear birthyr birthmonth yearbirth datebirth dob yob born birth
        geburtsdatum geburtsjahr geburtstag geburt geboren gebdat gebjahr
        nacimiento fechanac fnac anionac
        naissance datenaissance anneenaissance ddn
        nascimento datanasc
        nascita datanascita
        geboortedatum geboortejaar geboorte
        urodzenia urodzenie
        рождения рождение
        الميلاد ميلاد
        जन्म जन्मतिथि janm
        出生 生日
        生年月日 生年 誕生日
    """,
    "place": """
        zip zipcode postcode postal city town state county region district country land birthplace
        plz ort wohnort stadt kreis bezirk bundesland gemeinde wohnland landkreis kanton
        región provincia municipio ciudad país departamento comunidad estado localidad
        région ville commune pays département codepostal canton province
        região município cidade bairro cep uf
        regione comune città paese
        regio provincie gemeente woonplaats wijk buurt stadsdeel
        województwo powiat gmina miasto kraj miejscowość pocztowy
        регион область район город страна населенный индекс
        المنطقة المحافظة المدينة الدولة البلد الولاية
        राज्य जिला ज़िला शहर गाँव गांव क्षेत्र पिनकोड jila zila
        省份 省 城市 市 地区 地區 区域 區域 区县 县 邮编 邮政编码 籍贯 户籍 国家
        都道府県 市区町村 市町村 郵便番号 地域 地方 居住地 出身地
    """,
    "postal": """
        zip zipcode postcode postal
        plz
        _
        codepostal
        cep
        _
        _
        pocztowy
        индекс
        _
        पिनकोड
        邮编 邮政编码
        郵便番号
    """,
    "people": """
        race ethnicity ethnic native nationality citizenship
        nationalität staatsangehörigkeit
        nacionalidad etnia raza
        nationalité
        nacionalidade raça
        nazionalità cittadinanza
        nationaliteit
        narodowość obywatelstwo
        национальность гражданство
        الجنسية
        राष्ट्रीयता जाति
        民族 国籍 國籍
        国籍
    """,
    "life": """
        marital education school student occupation job workclass employer relationship children
        kinder household admitted admission visit height yearsmarried profession
        familienstand bildung schule beruf haushalt aufnahme schulabschluss
        civil educación estudios escolaridad ocupación profesión empleo trabajo hijos
        matrimonial éducation études diplôme métier emploi enfants
        educação ocupação profissão emprego trabalho filhos
        istruzione professione lavoro figli
        opleiding beroep burgerlijke
        wykształcenie zawód cywilny
        образование профессия работа должность семейное
        الاجتماعية التعليم المهنة الوظيفة
        शिक्षा व्यवसाय पेशा वैवाहिक
        学历 學歷 教育程度 文化程度 职业 職業 婚姻
        学歴 職業 婚姻 配偶者 続柄
    """,
    "names": """
        firstname lastname forename surname fullname email mail phone telephone mobile ssn passport
        iban address street username login rownames rownumber rowid uuid guid
        vorname nachname familienname telefon handy adresse anschrift strasse straße
        apellido apellidos teléfono correo dirección dni nif curp rut cédula
        prénom téléphone courriel nir
        sobrenome telefone celular endereço cpf rg
        cognome indirizzo codicefiscale
        voornaam achternaam telefoon adres bsn
        imię nazwisko pesel
        фамилия отчество фио телефон адрес паспорт снилс инн
        الهاتف الجوال العنوان البريد
        फोन मोबाइल पता आधार
        姓名 电话 電話 手机 手機 邮箱 地址 住址 身份证 身份證
        氏名 電話 住所 個人番号 メール
    """,
    "name": """
        name
        _
        nombre
        nom
        nome
        _
        naam
        nazwa
        имя
        الاسم
        नाम
        名字
        名前
    """,
    "number": """
        id nr no num number nummer key code identifier ident
        kennung
        número código
        numéro
        cod
        codice
        _
        numer
        номер код
        رقم
        संख्या
        编号 編號 号码
        番号
    """,
    "person": """
        person patient pupil student individual individu subject subj respondent respond resp
        participant volunteer proband employee worker customer client member insured user donor
        voter player athlete driver inmate prisoner applicant candidate defendant
        schüler subjekt teilnehmer mitarbeiter kunde mitglied
        sujeto paciente persona participante
        sujet personne
        pessoa
        paziente
        patiënt persoon
        pacjent osoba
        пациент пациента клиент
        المريض الشخص
        रोगी मरीज व्यक्ति
        患者 病人
        患者
    """,
    "household": """
        household households hh hhid hid hhno hhnr family families famid familyid couple couples
        address addresses street dwelling apartment flat home
        haushalt haushalte haushaltsnummer familie paar adresse anschrift strasse straße wohnung
        hogar vivienda familia
        famille foyer ménage
        domicílio
        famiglia
        huishouden gezin
        gospodarstwo rodzina
        семья домохозяйство
        الاسرة العائلة
        परिवार
        家庭 户号 家户
        世帯 家族
    """,
    "survey weight": """
        weight weights wgt wt pweight pwgt fnlwgt finalweight hhweight perwt hhwt
        gewicht gewichtung hochrechnungsfaktor hrf
        ponderador ponderación factorexp fexp
        poids pondération
        _
        ponderazione
        weegfactor
        waga
        вес
        الوزن
        भार
        权重 權重
        ウェイト
    """,
    "illness": """
        diagnosis diagnose diagnoses diag dx disease illness sick sickness icd icd10 cancer tumor
        tumour condition conditions disorder hiv symptom symptoms
        diagnosen hauptdiagnose krankheit befund krebs erkrankung
        diagnóstico enfermedad
        diagnostic maladie pathologie
        doença
        diagnosi malattia
        ziekte aandoening
        diagnoza rozpoznanie choroba
        диагноз заболевание болезнь
        التشخيص المرض
        निदान रोग बीमारी
        诊断 診斷 疾病 病名
        診断 病名 疾患 傷病
    """,
    "money": """
        income salary wage wages earnings debt loan wealth
        einkommen gehalt lohn vermögen
        ingreso ingresos salario sueldo renta
        revenu salaire
        rendimento
        reddito stipendio
        inkomen salaris loon
        dochód wynagrodzenie pensja
        доход зарплата оклад
        الدخل الراتب
        आय वेतन
        收入 工资 工資 薪水 薪资
        収入 年収 所得 給与 賃金
    """,
    "private": """
        affairs crime religion religiousness orientation abuse
        straftat konfession
        delito
        délit
        _
        religione reato
        godsdienst religie
        religia wyznanie przestępstwo
        религия судимость преступление
        الديانة الجريمة
        धर्म अपराध
        宗教 犯罪 政治面貌
        宗教 犯罪
    """,
    "treatment": """
        injury severity drug medication abortion result outcome death transplant pregnancy
        disability disabilities
        schwere medikament ergebnis behinderung
        lesión medicamento embarazo discapacidad necesidades
        médicament handicap
        gravidez deficiência
        farmaco
        _
        leki
        инвалидность
        الإعاقة
        दवा
        残疾
        障害 薬
    """,
    "mark": """
        cost costs charges score grade note vote rating
        _
        calificación
        _
        nota
        voto
        cijfer
        ocena
        оценка
        _
        _
        成绩 成績
        成績
    """,
}
# Of all languages at once; a question that asks for something begins with one of these.
_ASKING = """
    what which where how who select indicate enter wie welche welcher welches was wo cuál cual qué
    que dónde donde cuántos quel quelle quels où qual onde quale dove welk welke wat waar jaki jaka
    gdzie какой какая какое где сколько ما أين
"""
_QUESTION_MARKS = re.compile(r"[?¿？؟]")
_LONG, _LONGEST = 5, 12  # words: a longer name is a sentence, and of more it asks for much
# The meanings that a question may ask for when a person is described.
_ASKED = ("age", "sex", "birth", "place", "people")
_AGE_ASKED = re.compile(r"how old|wie alt|quantos anos|cuántos años|сколько вам лет")
# Letters that are no others with an accent.
_ALIKE = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"})
_ACCENTS = re.compile("[\u0300-\u036f\u064b-\u065f\u0640]")
_UNBROKEN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


def plain(text: str) -> str:
    """A text in small letters without accents.

    >>> plain("Âge"), plain("STRASSE"), plain("Straße"), plain("الإعاقة") == plain("الاعاقة")
    ('age', 'strasse', 'strasse', True)
    """
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFC", bare).translate(_ALIKE)


def _vocabulary(meaning: str) -> dict[str, None]:
    """The words of one meaning, in their order."""
    words = [word for word in _TABLE[meaning].split() if word != "_"]
    return dict.fromkeys(_bare_of_article(plain(word)) for word in words)


def _bare_of_article(word: str) -> str:
    return word[2:] if word.startswith("ال") and len(word) > 4 else word


WORDS = {meaning: _vocabulary(meaning) for meaning in _TABLE}
_IN_A_ROW = sorted(
    {word for words in WORDS.values() for word in words if _UNBROKEN.search(word)}, key=len
)
_ASKING_WORDS = {plain(word) for word in _ASKING.split()}


def words_meaning(*meanings: str) -> dict[str, None]:
    """The words of the table that have any of some meanings, in their order, as keys."""
    return {word: None for meaning in meanings for word in WORDS[meaning]}


def split(name: str) -> list[str]:
    """The parts of a name, plain: by its signs and its capitals.

    >>> split("C1_Edad"), split("Alter (Jahre)"), split("yearBirth")
    (['c1', 'edad'], ['alter', 'jahre'], ['year', 'birth'])
    """
    # A blank before each capital after a small letter or a digit.
    spaced = re.sub(r"(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])|(?<=\d)(?=[A-ZÀ-Þ][a-zß-ÿ])", " ", name)
    # Signs of vowels in Devanagari are marks of their letters, and no signs between words.
    signs = (c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in spaced)
    return plain("".join(signs)).split()


@lru_cache(maxsize=1 << 14)
def words_of(name: str) -> frozenset[str]:
    """The words of a name: its parts, these without digits, pairs of neighbours, and all as one.

    Of Chinese and Japanese, which write no blanks, also words of the table inside the name.

    >>> "firstname" in words_of("first_name"), "edad" in words_of("C1_Edad")
    (True, True)
    >>> "年齢" in words_of("患者年齢"), "市" in words_of("市場")
    (True, False)
    """
    name_parts = split(name)
    whole_name = "".join(name_parts)
    words = [*name_parts]
    for part in name_parts:
        words += [word for word in re.split(r"\d+", part) if word]
    words += [_bare_of_article(word) for word in words]
    words += [first + second for first, second in pairwise(name_parts)]
    # These write no blanks between words; single signs mean too much to count.
    for word in _IN_A_ROW:
        if len(word) > 1 and word in whole_name:
            words.append(word)
    return frozenset([*words, whole_name])


def is_sentence(name: str) -> bool:
    """True if a name is a question, or has more than five words: a single word then says little.

    >>> is_sentence("Is your employer a tech company?"), is_sentence("Alter (Jahre)")
    (True, False)
    """
    return _QUESTION_MARKS.search(name) is not None or len(split(name)) > _LONG


def asks_for(name: str) -> str:
    """The word for the trait that a question asks for: age, sex, birth, place; "" for others.

    >>> asks_for("What is your gender?"), asks_for("Does your employer ask for your age?")
    ('gender', '')
    """
    name_parts = split(name)
    # A question about a person is short, and begins with a word that asks.
    if not name_parts or len(name_parts) > _LONGEST or name_parts[0] not in _ASKING_WORDS:
        return ""
    age_question = _AGE_ASKED.search(" ".join(name_parts))
    if age_question:
        return age_question[0]
    words = words_of(name)
    return next((word for word in words_meaning(*_ASKED) if word in words), "")
