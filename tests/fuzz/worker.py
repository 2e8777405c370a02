"""A process in which the command line, and a few readings, are called again and again.

A line of JSON on standard input is a request: a folder to work in, and ``argv`` of the command
line, or the name of a reading and what it is given. A line on what standard output was at first is
the answer. What a command prints goes to two files, byte by byte as a terminal would get it.
"""

import json
import os
import sys
import time
import traceback
import warnings


class Exited(BaseException):
    """What `os._exit` does here: end the command, not the process."""


def end(code):
    raise Exited(code)


def command(argv):
    """Exit code of one call of the command line."""
    from foreknow.cli import main

    sys.argv = ["foreknow", *argv]
    try:
        main()
    except SystemExit as ended:
        return ended.code or 0
    except Exited as ended:
        return ended.args[0]
    return 0


def read(name, given):
    """What a reading says, or how it failed: refused by Foreknow, or raised something else."""
    from tests.fuzz import readings

    import foreknow as fk

    try:
        return {"read": getattr(readings, name)(**given)}
    except fk.ForeknowError as error:
        kind = type(error).__name__
        return {"refused" if kind != "InternalError" else "raised": f"{kind}: {error}"}
    except Exception:
        return {"raised": traceback.format_exc()}


def serve(requests, answers, out, err):
    """Answer one request after the other."""
    for line in requests:
        request = json.loads(line)
        os.chdir(request["folder"])
        for said in (out, err):
            said.seek(0)
            said.truncate()
        before = time.process_time()
        try:
            if "argv" in request:
                answer = {"code": command(request["argv"])}
            else:
                answer = read(request["reading"], request["given"])
        except BaseException:
            answer = {"raised": traceback.format_exc()}
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        answer["seconds"] = time.process_time() - before
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    warnings.simplefilter("ignore", ResourceWarning)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with open(sys.argv[1], "w+b") as out, open(sys.argv[2], "w+b") as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        os._exit = end
        serve(sys.stdin, answers, out, err)
