// Another user of the machine on which the control planes of a hub run: reaches nothing through the socket of their host, and is not taken for it.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest'
import { EMBEDDED } from '#controlplanes/embedded/embedded.ts'
import { EmbeddedHost } from '#controlplanes/embedded/embedded-host.ts'
import { serveHost, SocketHost } from '#controlplanes/embedded/socket.ts'
import { systemClock } from '#lib/system-clock.ts'
import { embeddedEngine } from '#programs/planes/embedded-engine.ts'

const NOBODY = 65_534
/** Python is on every machine that runs these tests, where the folder of Node may be closed to others. */
const PYTHON = '/usr/bin/python3'

let root: string
let open: string
let socket: string
let host: EmbeddedHost
let served: { close(): Promise<void> }
const children: ChildProcess[] = []

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'kubenode-socket-'))
  // As /tmp: each user may make files and can remove only their own.
  open = join(root, 'open')
  mkdirSync(open)
  chmodSync(root, 0o755)
  chmodSync(open, 0o1777)
  socket = join(open, 'control.sock')
  host = new EmbeddedHost({ root: join(root, 'planes'), clock: systemClock, engine: embeddedEngine() })
  await host.open()
  served = await serveHost(host, socket)
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await served?.close()
  await host?.close()
  rmSync(root, { recursive: true, force: true })
})

function needsTwoUsers(context: TestContext): void {
  if (process.getuid?.() !== 0) context.skip('only root can act as another user')
  if (!existsSync(PYTHON)) context.skip(`${PYTHON} is missing`)
}

/** A program of another user, in Python; what it prints. */
const asNobody = (code: string): string => {
  const { stdout, stderr } = spawnSync(PYTHON, ['-c', code], { uid: NOBODY, gid: NOBODY, encoding: 'utf8' })
  return stdout + stderr
}

const CONNECT = (path: string) => `
import socket
s = socket.socket(socket.AF_UNIX)
s.connect(${JSON.stringify(path)})
s.sendall(b"POST /list HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 2\\r\\n\\r\\n[]")
print("answered", s.recv(4096))
`

test('another user of the machine cannot connect to the socket of the host of control planes', (context) => {
  needsTwoUsers(context)
  const said = asNobody(CONNECT(socket))
  expect(said).toContain('PermissionError')
  expect(said).not.toContain('answered')
})

test.for([
  ['removes the socket', 'os.unlink'],
  ['opens the socket to all', 'lambda p: os.chmod(p, 0o777)'],
  ['moves the socket away', 'lambda p: os.rename(p, p + ".old")'],
])('another user of the machine who %s is refused', ([, call], context) => {
  needsTwoUsers(context)
  const said = asNobody(`import os\n(${call})(${JSON.stringify(socket)})\nprint("done")`)
  expect(said).toContain('PermissionError')
  expect(said).not.toContain('done')
})

test('another user of the machine reads no file of a control plane', async (context) => {
  needsTwoUsers(context)
  await host.put({ id: 'fleet.a', owner: 'uid-a', version: '1.36.0' })
  const said = asNobody(`import os\nprint("read", os.listdir(${JSON.stringify(join(root, 'planes', 'fleet.a'))}))`)
  expect(said).toContain('PermissionError')
  expect(said).not.toContain('read')
})

test('S31 a socket that another user put in the place of the host is told nothing and believed nothing', async (context) => {
  needsTwoUsers(context)
  const path = join(open, 'squatted.sock')
  const log = join(open, 'heard')
  const code = `
import socket, os
s = socket.socket(socket.AF_UNIX)
s.bind(${JSON.stringify(path)})
os.chmod(${JSON.stringify(path)}, 0o777)
s.listen(5)
print("ready", flush=True)
while True:
    c, _ = s.accept()
    open(${JSON.stringify(log)}, "ab").write(c.recv(65536))
    body = b'{"value":"apiVersion: v1"}'
    c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
    c.close()
`
  const child = spawn(PYTHON, ['-c', code], { uid: NOBODY, gid: NOBODY, stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  await once(child.stdout, 'data')
  const client = new SocketHost(path, EMBEDDED)
  const identity = { user: 'kubenode:sync', groups: [], lifeMs: 3_600_000 }
  await expect(client.kubeconfig('fleet.prod', identity)).rejects.toThrow(/KN1093.*belongs to uid 65534/)
  expect(existsSync(log) ? readFileSync(log, 'utf8') : '').toBe('')
  // A file is no socket either.
  writeFileSync(join(open, 'file.sock'), '')
  await expect(new SocketHost(join(open, 'file.sock'), EMBEDDED).list()).rejects.toThrow(/KN1093.*not a socket/)
})

const asked = (method: string, path: string, body: string): Promise<string> =>
  new Promise((resolve) => {
    const sent = request({ socketPath: socket, method, path, agent: false }, (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('close', () => resolve(`${answer.statusCode} ${Buffer.concat(parts).toString()}`))
    })
    sent.on('error', (e) => resolve(e.message))
    sent.end(body)
  })

test.each([
  ['POST', '/constructor', '[]', /no such call/],
  ['POST', '/close', '[]', /no such call/],
  ['POST', '/__proto__', '[]', /no such call/],
  ['GET', '/list', '', /no such call/],
  ['POST', '/list', '{"0":1}', /are a list/],
  ['POST', '/get', '["../../etc"]', /KN1090|null/],
  ['POST', '/delete', '["../../etc",{"owner":"x"}]', /KN1090|Gone|Absent|NotFound/],
  ['POST', '/list', `["${'x'.repeat(4 * 1024 * 1024)}"]`, /more than|EPIPE|ECONNRESET/],
])('the socket answers %s %s with an error and goes on', async (method, path, body, wanted) => {
  expect(await asked(method, path, body)).toMatch(wanted)
  expect(await asked('POST', '/list', '[]')).toMatch(/^200 /)
})
