// The line of `kubenode machine join-command`, run as printed by the shell of this machine, with the tools of a bare host: it downloads join.sh from an
// artifact server, and runs it with the join bundle only if authority and digest are those of the line. With curl and with wget.
import { spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createFetcher } from '#agent/components/fetch.ts'
import { apiProxy, proxyEnv, type HostProxy } from '#agent/join/host-proxy.ts'
import { planned } from '#artifacts/own-authority.ts'
import { ArtifactServer } from '#artifacts/server.ts'
import { makeArchives } from '#agent/join/archive.ts'
import { joinLine, MAX_LINE_CHARS, type JoinLineOptions } from '#agent/join/join-line.ts'
import type { JoinTicket } from '#agent/join/join-command.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { newPublisher } from '#test/doubles/node/release.ts'
import { sha256Hex } from '#lib/sha256.ts'

/** What the line and join.sh may use besides curl or wget. */
const TOOLS = 'sh cat rm mktemp date sha256sum tar gzip id uname getconf awk dirname mkdir find'.split(' ')
/** In place of Node.js: join.sh checks only that it starts. */
const NODE = '/bin/true'
const STUB = '#!/bin/sh\necho "$@"\ncat\n'

const folder = mkdtempSync(join(tmpdir(), 'kubenode-join-line-'))
const served = join(folder, 'served')
const now = Date.now()
const trust = newPublisher().anchor
const pair = planned({}, ['127.0.0.1'], now)
const others = planned({}, ['127.0.0.1'], now)
const servers: ArtifactServer[] = []
let port = 0
let othersPort = 0

const pathTo = (tool: string): string | undefined =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((at) => join(at, tool))
    .find((at) => existsSync(at))

function host(downloader: string): string {
  const bin = join(folder, `bin-${downloader}`)
  if (existsSync(bin)) return bin
  mkdirSync(bin)
  for (const tool of [...TOOLS, ...(downloader === 'none' ? [] : [downloader])])
    symlinkSync(pathTo(tool) ?? `/nonexistent/${tool}`, join(bin, tool))
  return bin
}

const serve = async (own: typeof pair): Promise<number> => {
  const server = new ArtifactServer({
    folder: served,
    pair: own,
    host: '127.0.0.1',
    port: 0,
    clock: systemClock,
    log: silentLogger,
  })
  servers.push(server)
  return server.start()
}

beforeAll(async () => {
  mkdirSync(served)
  port = await serve(pair)
  othersPort = await serve(others)
})
beforeEach(() => writeFileSync(join(served, 'join.sh'), STUB))
afterAll(async () => {
  for (const s of servers) await s.stop()
  rmSync(folder, { recursive: true, force: true })
})

const ticket = (more: Partial<JoinTicket> = {}, base = `https://127.0.0.1:${port}/`): JoinTicket => ({
  machine: 'db-1',
  now: Date.now(),
  expiresAt: Date.now() + 900_000,
  bundle: {
    server: 'https://127.0.0.1:1',
    caData: Buffer.from(pair.ca).toString('base64'),
    token: 'abcdef.0123456789abcdef',
    machine: 'db-1',
    node: 'db-1',
    cluster: 'test',
    artifactBase: base,
    artifactCaData: Buffer.from(pair.ca).toString('base64'),
    joinScript: sha256Hex(STUB),
    trust,
  },
  ...more,
})

/** A proxy that notes what it is asked to connect to. */
async function startProxy() {
  const asked: string[] = []
  const open = new Set<net.Socket>()
  const proxy = http.createServer()
  proxy.on('connect', (request: http.IncomingMessage, client: net.Socket) => {
    asked.push(request.url ?? '')
    const [, to = ''] = (request.url ?? '').split(':')
    const upstream = net.connect(Number(to), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    for (const s of [client, upstream]) {
      open.add(s)
      s.on('error', () => s.destroy())
    }
  })
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
  const stop = async () => {
    for (const s of open) s.destroy()
    proxy.closeAllConnections()
    await new Promise((done) => proxy.close(done))
  }
  return { url: `http://127.0.0.1:${(proxy.address() as net.AddressInfo).port}`, asked, stop }
}

interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function run(line: string, downloader = 'curl', env: Record<string, string> = {}): Promise<Ran> {
  const child = spawn(join(host(downloader), 'sh'), ['-c', line], {
    cwd: folder,
    env: { PATH: host(downloader), ...env },
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (s: Buffer) => void (out += s.toString('utf8')))
  child.stderr.on('data', (s: Buffer) => void (err += s.toString('utf8')))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}

const line = (options: JoinLineOptions = {}, of = ticket()) => joinLine(of, options)

describe.each(['curl', 'wget'])('a host with %s', (tool) => {
  beforeEach((context) => {
    if (pathTo(tool) === undefined) context.skip(`${tool} is not installed here`)
  })

  test('runs join.sh with the bundle on standard input, and leaves nothing behind', async () => {
    const { code, out, err } = await run(line(), tool)
    expect([code, err.replace(/^.*URL:.*\n/m, '')]).toEqual([0, ''])
    const [args = '', bundle = ''] = out.split('\n')
    const [, temporary = ''] = /^--from https:\/\/127\.0\.0\.1:\d+\/ --ca (\/\S+)\/ca\.pem$/.exec(args) ?? []
    expect(temporary).not.toBe('')
    expect(existsSync(temporary)).toBe(false)
    const { joinScript: _, ...rest } = ticket().bundle
    expect(JSON.parse(gunzipSync(Buffer.from(bundle, 'base64')).toString('utf8'))).toMatchObject(rest)
  })

  test('refuses a server with another certificate', async () => {
    const { code, out, err } = await run(line({}, ticket({}, `https://127.0.0.1:${othersPort}/`)), tool)
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(
      /KN8083: cannot join: https:\S+join\.sh has a certificate that this line does not trust; another server/,
    )
  })

  test('refuses another join.sh', async () => {
    writeFileSync(join(served, 'join.sh'), '#!/bin/sh\necho evil\n')
    const { code, out, err } = await run(line(), tool)
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(/KN8084: .*join\.sh is not the file that was expected \(wrong SHA-256\); serve join\.sh/)
  })

  test('says that the server has no join.sh, or that there is no server', async () => {
    rmSync(join(served, 'join.sh'))
    const closed = net.createServer()
    await new Promise<void>((done) => closed.listen(0, '127.0.0.1', done))
    const free = (closed.address() as net.AddressInfo).port
    await new Promise((done) => closed.close(done))
    for (const base of [`https://127.0.0.1:${port}/`, `https://127.0.0.1:${free}/`]) {
      const { code, err } = await run(line({}, ticket({}, base)), tool)
      expect([code, err]).toEqual([1, expect.stringContaining(`KN8082: cannot join: ${base}join.sh cannot be downl`)])
    }
  })

  test('goes through the proxy of the line, or that of its environment', async () => {
    const proxy = await startProxy()
    const { url, asked } = proxy
    try {
      expect((await run(line({ proxy: url }), tool)).code).toBe(0)
      expect((await run(line(), tool, { HTTPS_PROXY: url })).code).toBe(0)
      expect((await run(line(), tool, { HTTPS_PROXY: url, NO_PROXY: '127.0.0.1' })).code).toBe(0)
      expect(asked).toEqual([`127.0.0.1:${port}`, `127.0.0.1:${port}`])
    } finally {
      await proxy.stop()
    }
  })
})

test('an agent downloads through the proxy of its host, and reaches the API server through it only when configured', async () => {
  const { url, asked, stop } = await startProxy()
  const server = `https://127.0.0.1:${port}`
  const bytes = async (proxy?: Record<string, string>) => {
    const fetcher = createFetcher({ base: `${server}/`, ca: pair.ca, ...defined({ proxy }) })
    const chunks: Buffer[] = []
    for await (const chunk of fetcher.open('join.sh', 1_000, AbortSignal.timeout(10_000))) chunks.push(chunk)
    return Buffer.concat(chunks).toString('utf8')
  }
  const api = async (proxy: HostProxy) => {
    const given = apiProxy({ proxy })
    const client = new HttpKubeClient({ server, ca: { data: pair.ca }, ...defined({ proxy: given }) })
    const status = await client.raw({ method: 'GET', path: '/join.sh' }).then((r) => r.status)
    client.close()
    return status
  }
  try {
    expect([await bytes(), await bytes(proxyEnv({ url, not: '127.0.0.1' }))]).toEqual([STUB, STUB])
    expect([await api({ url }), asked.length]).toEqual([200, 0])
    expect([await bytes(proxyEnv({ url })), asked.length]).toEqual([STUB, 1])
    expect([await api({ url, api: true }), asked.length]).toEqual([200, 2])
  } finally {
    await stop()
  }
})

test('an expired line and a clock that is behind are distinguished before anything is downloaded', async () => {
  const late = await run(line({}, ticket({ expiresAt: now - 1_000 })), 'none')
  expect([late.code, late.err]).toEqual([
    1,
    expect.stringMatching(
      /^KN8003: cannot join: this line was valid until .*Z, and the clock of this host is at 20.*db-1/,
    ),
  ])
  const early = await run(line({}, ticket({ now: now + 3_600_000, expiresAt: now + 4_500_000 })), 'none')
  expect([early.code, early.err]).toEqual([1, expect.stringMatching(/^KN1408: cannot join: .*timedatectl/)])
})

test.each([
  [
    'curl',
    { curl: 'exit 23' },
    /KN8087: cannot join: \/tmp cannot be written: no room; make room there, or set TMPDIR/,
  ],
  ['wget', { wget: 'exit 3' }, /KN8087: cannot join: \/tmp cannot be written: no room; make room there, or set TMPDIR/],
  [
    'mktemp',
    { mktemp: 'echo "mktemp: No space left" >&2; exit 1' },
    /^KN8087: .*\/tmp .*: mktemp: No space left; make/,
  ],
] as const)('a full disk is no fault of the server or of its certificate: %s', async (tool, fakes, says) => {
  const bin = join(folder, `full-${tool}`)
  mkdirSync(bin)
  const given: Readonly<Record<string, string>> = fakes
  for (const name of Object.keys(given)) writeFileSync(join(bin, name), `#!/bin/sh\n${given[name]}\n`, { mode: 0o755 })
  const { code, out, err } = await run(line(), 'none', { PATH: `${bin}:${host('none')}` })
  expect([code, out, err]).toEqual([1, '', expect.stringMatching(says)])
})

test('a host without curl and wget is refused with the cause', async () => {
  const { code, err } = await run(line(), 'none')
  expect([code, err]).toEqual([1, expect.stringContaining('KN8085: cannot join: this host has no curl and no wget')])
})

test('the line begins with a space, has no token in it as text, and fits into the input of any shell', () => {
  const text = line({ prefix: '/srv/kubenode', address: '10.0.0.5', proxy: 'http://p:3128', proxyApi: true })
  expect(text).toMatch(/^ \(/)
  expect(text).not.toContain('abcdef')
  expect(text).not.toContain('\n')
  expect(text.length).toBeLessThan(MAX_LINE_CHARS)
  expect(text).toMatch(/sh join\.sh .*--prefix '\/srv\/kubenode' --address 10\.0\.0\.5 --proxy-api\)$/)
})

test.each<[string, JoinLineOptions, Partial<JoinTicket['bundle']>, RegExp]>([
  [
    'no address of artifacts',
    {},
    { artifactBase: '' },
    /^KN1360: .*db-1: the installation does not name where .*artifacts\.address/,
  ],
  [
    'artifacts in a folder, as those of a local fleet',
    {},
    { artifactBase: 'file:///a/' },
    /^KN1360: .*file:\/\/\/a\/.*kubenode local up.*kubenode install/,
  ],
  ['artifacts over http', {}, { artifactBase: 'http://a/' }, /^KN1360: .*over HTTPS, .*http:\/\/a\//],
  ['no digest', {}, { joinScript: undefined }, /^KN1360: .*--join-script, or set artifacts\.joinScript/],
  ['an address that is none', { address: 'eth0' }, {}, /^KN1002: .*--address/],
  ['a prefix with blanks', { prefix: '/a b' }, {}, /^KN1002: .*--prefix/],
])('no line is printed with %s', (_, options, bundle, says) => {
  const given = ticket()
  expect(() => line(options, { ...given, bundle: { ...given.bundle, ...bundle } })).toThrow(says)
})

describe('join.sh of an archive', () => {
  const made = join(folder, 'made')
  const root = join(import.meta.dirname, '../..')
  const prefix = join(folder, 'opt')
  beforeAll(async () => {
    await makeArchives({ root, out: made, nodes: [NODE] })
  })
  const isRoot = process.geteuid?.() === 0
  const joinSh = (...args: readonly string[]) =>
    run(`sh ${join(made, 'join.sh')} --prefix ${prefix} ${args.join(' ')} < /dev/null`)

  test.each([
    ['Linux 4.17', { uname: 'case $1 in -r) echo 4.17.19 ;; *) echo x86_64 ;; esac' }, /^KN8004: .*Linux 4\.17\.19/],
    ['glibc 2.17', { getconf: 'echo glibc 2.17' }, /^KN8004: .*glibc 2\.17, and the agent needs 2\.28/],
    ['another C library', { getconf: 'exit 1' }, /^KN8004: .*glibc of another kind/],
    ['a processor without an agent', { uname: 'case $1 in -r) echo 6.1 ;; *) echo s390x ;; esac' }, /^KN1051: .*s390x/],
    ['another user than root', { id: 'echo 1000' }, /^KN8053: /],
    ['no tar', { tar: undefined }, /^KN8085: cannot join: this host has no tar; install/],
  ] as const)('refuses a host with %s before anything is written', async (what, fakes, says) => {
    const bin = join(folder, `fake-${what.replaceAll(' ', '-')}`)
    mkdirSync(bin)
    const given: Readonly<Record<string, string | undefined>> = { id: 'echo 0', ...fakes }
    for (const tool of TOOLS) {
      if (!(tool in given)) symlinkSync(pathTo(tool) ?? '', join(bin, tool))
      else if (given[tool] !== undefined) writeFileSync(join(bin, tool), `#!/bin/sh\n${given[tool]}\n`, { mode: 0o755 })
    }
    const elsewhere = join(folder, 'nowhere')
    const { code, err } = await run(`sh ${join(made, 'join.sh')} --prefix ${elsewhere} < /dev/null`, 'none', {
      PATH: bin,
    })
    expect([code, err, existsSync(elsewhere)]).toEqual([1, expect.stringMatching(says), false])
  })

  test('is made again to the byte', async () => {
    const again = join(folder, 'again')
    const files = await makeArchives({ root, out: again, nodes: [NODE] })
    expect(files.map((f) => f.file.split('/').at(-1))).toEqual([expect.stringMatching(/^agent-linux-/), 'join.sh'])
    for (const { file } of files)
      expect(readFileSync(file).equals(readFileSync(join(made, file.split('/').at(-1) ?? '')))).toBe(true)
  })

  test('unpacks the archive beside it, runs what is in it, and removes it', async (context) => {
    if (!isRoot) context.skip('it installs below a folder of root')
    expect(await joinSh()).toEqual({ code: 0, out: '', err: '' })
    expect(existsSync(join(prefix))).toBe(true)
    expect((await run(`find ${prefix} -mindepth 1`)).out).toBe('')
  })

  test('an archive that does not fit is no fault of the server, and a full disk is said in one line', async (context) => {
    if (!isRoot) context.skip('it installs below a folder of root')
    const bin = join(folder, 'full-archive')
    mkdirSync(bin)
    const fake = (name: string, text: string) => writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
    const full = (from: string) =>
      run(`sh ${join(from, 'join.sh')} --from https://a.example --prefix ${prefix} < /dev/null`, 'none', {
        PATH: `${bin}:${host('none')}`,
      })
    const alone = join(folder, 'alone')
    mkdirSync(alone)
    writeFileSync(join(alone, 'join.sh'), readFileSync(join(made, 'join.sh')))
    fake('curl', 'exit 23')
    const download = await full(alone)
    expect([download.code, download.err]).toEqual([
      1,
      expect.stringMatching(
        /^KN8087: cannot join: \S+opt cannot be written: agent-linux-\w+\.tar\.gz does not fit; make/,
      ),
    ])
    fake('tar', 'echo "tar: a: No space left" >&2; echo "tar: b: No space left" >&2; exit 2')
    const unpacked = await full(made)
    expect([unpacked.code, unpacked.err]).toEqual([
      1,
      expect.stringMatching(/^KN8087: cannot join: \S+opt cannot be written: tar: a: No space left; make room.*\n$/),
    ])
    expect((await run(`find ${prefix} -mindepth 1`)).out).toBe('')
  })

  test.for<[string, (at: string) => void, RegExp]>([
    ['that belongs to another user', (at) => chownSync(at, 65_534, 65_534), /open belongs to another user or is wri/],
    ['that every user can write to', (at) => chmodSync(at, 0o777), /run chown root \S+ && chmod go-w \S+open, or/],
    ['that a group can write to', (at) => chmodSync(at, 0o775), /KN1040/],
    ['below such a folder', (at) => (chmodSync(at, 0o777), mkdirSync(join(at, 'deep'))), /open belongs to another/],
  ])('refuses a folder %s before anything in it runs', async ([, open, says], context) => {
    if (!isRoot) context.skip('it installs below a folder of root')
    const at = join(folder, 'open')
    mkdirSync(at)
    try {
      open(at)
      const target = existsSync(join(at, 'deep')) ? join(at, 'deep') : at
      const link = join(folder, 'link-to-open')
      symlinkSync(target, link)
      for (const given of [target, `${target}/new/er`, link, `${link}/new`]) {
        const { code, err } = await run(`sh ${join(made, 'join.sh')} --prefix ${given} < /dev/null`)
        expect([given, code, err]).toEqual([given, 1, expect.stringMatching(/^KN1040: cannot use /)])
        expect(err).toMatch(says)
      }
      expect((await run(`find ${target} -mindepth 1`)).out).toBe('')
    } finally {
      rmSync(at, { recursive: true })
      rmSync(join(folder, 'link-to-open'))
    }
  })

  test('refuses an archive of another build, and a folder that it cannot write', async (context) => {
    if (!isRoot) context.skip('it installs below a folder of root')
    const other = join(folder, 'other')
    mkdirSync(other)
    const name = (await run(`cd ${made}; find . -name '*.gz'`)).out.trim()
    writeFileSync(join(other, name), 'other')
    writeFileSync(join(other, 'join.sh'), readFileSync(join(made, 'join.sh')))
    const wrong = await run(`sh ${join(other, 'join.sh')} --prefix ${prefix} < /dev/null`)
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringMatching(/^KN8084: .*\.tar\.gz is not the file/)])
    const readOnly = await run(`sh ${join(made, 'join.sh')} --prefix /proc/kubenode < /dev/null`)
    expect([readOnly.code, readOnly.err]).toEqual([
      1,
      expect.stringMatching(/^KN8087: cannot join: \/proc\/kubenode cannot be written: .*--prefix/),
    ])
  })
})
