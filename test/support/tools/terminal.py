"""Runs a program in a pseudo-terminal and prints what it showed, as JSON: {"shown": "...", "code": 0}.

Input on stdin: {"argv": [...], "cols": 80, "rows": 24, "env": {...}, "cwd": "/", "deadline": 60,
                 "steps": [{"wait": "regex", "send": "text", "resize": [cols, rows]}]}
A step waits until its pattern is in what was shown since the step before, then acts.
"""
import codecs, fcntl, json, os, pty, re, select, signal, struct, sys, termios, time

job = json.load(sys.stdin)


def size(fd, cols, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


ESCAPE = re.compile("\x1b(\\[[0-9;?]*[A-Za-z]|\\][^\x07]*\x07|[()][A-Z0-9]|[=>])|[\x07\x08]")


def plain(text):
    return ESCAPE.sub("", text)


pid, fd = pty.fork()
if pid == 0:
    os.chdir(job["cwd"])
    time.sleep(0.05)  # the size of the terminal is set by then
    os.execvpe(job["argv"][0], job["argv"], job["env"])
size(fd, job["cols"], job["rows"])

decode = codecs.getincrementaldecoder("utf-8")("replace")
shown, seen = "", 0
steps = list(job["steps"])
end = time.monotonic() + job["deadline"]
while time.monotonic() < end:
    if steps and re.search(steps[0]["wait"], plain(shown[seen:]), re.S):
        step = steps.pop(0)
        seen = len(shown)
        if "resize" in step:
            size(fd, *step["resize"])
            os.kill(pid, signal.SIGWINCH)
        if "send" in step:
            os.write(fd, step["send"].encode())
        continue
    ready, _, _ = select.select([fd], [], [], 0.2)
    if not ready:
        continue
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    shown += decode.decode(data)
late = time.monotonic() >= end
if late:
    os.kill(pid, signal.SIGKILL)
_, status = os.waitpid(pid, 0)
json.dump({"shown": shown, "code": os.waitstatus_to_exitcode(status), "late": late, "left": len(steps)}, sys.stdout)
