// Login programs (exec plug-ins) of a user's kubeconfig, run for real against the embedded server: renewal, failures, their environment, and ways to the server.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { chosenConnection, clientOf } from '#programs/run/connect.ts'
import { systemClock } from '#lib/system-clock.ts'
import { messageOf } from '#lib/errors.ts'
import { seededRandom } from '#lib/random.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { createInformer } from '#kube/informer.ts'
import { type FaultProxy, startFaultProxy } from '#test/support/faults/fault-proxy.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { startHttpProxy } from '#test/support/servers/http-proxy.ts'
import { CONFIG_MAPS } from '#test/support/servers/kube-contract.ts'
import { KubeConfig, type User } from '@kubernetes/client-node'
import { coreKind } from '#kube/core-kinds.ts'
import { pluginIdentity } from '#kube/plugin-identity.ts'
import { fastClock } from '#test/support/clocks/fast-clock.ts'
import { machine } from '#api/kinds/machine.ts'
import type { Session } from '#console/protocol.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type ResourceType, apiVersionOf } from '#api/schema/resource.ts'
import { Browser } from '#test/support/console/plain-browser.ts'
import { installAll } from '#test/support/servers/installed.ts'

const SECRETS = coreKind('Secret')
const NAMESPACE = 'default'
const V1 = 'client.authentication.k8s.io/v1'
const V1BETA1 = 'client.authentication.k8s.io/v1beta1'

let server: RunningServer
let proxy: FaultProxy
let admin: HttpKubeClient
let folder: string
const ends: (() => unknown)[] = []
beforeEach(async () => {
  server = await startEmbedded()
  proxy = await startFaultProxy(Number(new URL(server.url).port))
  folder = mkdtempSync(join(tmpdir(), 'kubenode-login-'))
  admin = new HttpKubeClient({
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  })
  const meta = { name: 'ada', namespace: NAMESPACE }
  await admin.create(coreKind('ServiceAccount'), { apiVersion: 'v1', kind: 'ServiceAccount', metadata: meta })
  await admin.raw({
    method: 'POST',
    path: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    body: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'ada' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', ...meta }],
    },
  })
})
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
  admin.close()
  await proxy.close()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** A token that ends when the Secret of this name is deleted. */
async function tokenBoundTo(name: string): Promise<string> {
  const { metadata } = await admin.create(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: NAMESPACE },
  })
  const { text } = await admin.raw({
    method: 'POST',
    path: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/ada/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name, uid: metadata.uid } },
    },
  })
  return (JSON.parse(text) as { readonly status: { readonly token: string } }).status.token
}
const revoke = (name: string) => admin.delete(SECRETS, { namespace: NAMESPACE, name })

/** A shell script that notes each start and its KUBERNETES_EXEC_INFO. */
function script(body: string, name = 'login'): string {
  const file = join(folder, name)
  writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "$KUBERNETES_EXEC_INFO" >> '${folder}/starts'\n${body}\n`)
  chmodSync(file, 0o755)
  return file
}
const starts = (): readonly { readonly spec: Record<string, unknown> }[] =>
  existsSync(join(folder, 'starts'))
    ? readFileSync(join(folder, 'starts'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { readonly spec: Record<string, unknown> })
    : []

/** The script answers with what was put last. */
function answers(status: object, apiVersion = V1): void {
  writeFileSync(join(folder, 'answer'), JSON.stringify({ apiVersion, kind: 'ExecCredential', status }))
}
const ANSWER = () => `cat '${folder}/answer'`
const apiHead = (type: ResourceType) => ({ apiVersion: apiVersionOf(type), kind: type.kind })
const inSeconds = (s: number) => new Date(Date.now() + s * 1_000).toISOString()

interface Parts {
  readonly exec?: object
  readonly user?: object
  readonly cluster?: object
  readonly name?: string
}
function kubeconfig({ exec, user = {}, cluster = {}, name = 'config' }: Parts): string {
  const file = join(folder, name)
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    clusters: [
      {
        name: 'c',
        cluster: {
          server: `https://127.0.0.1:${proxy.port}`,
          'certificate-authority-data': Buffer.from(server.ca).toString('base64'),
          ...cluster,
        },
      },
    ],
    users: [
      { name: 'ada', user: { ...(exec && { exec: { apiVersion: V1, interactiveMode: 'Never', ...exec } }), ...user } },
    ],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'ada' } }],
  }
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
  return file
}

async function clientWith(parts: Parts, show?: (text: string) => void): Promise<HttpKubeClient> {
  const { config } = await chosenConnection({ file: kubeconfig(parts), env: {}, cwd: folder, show })
  const client = clientOf(config, 'test')
  ends.push(() => client.close())
  return client
}
const create = (client: HttpKubeClient, name: string) =>
  client.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: NAMESPACE } })
const failureOf = async (client: HttpKubeClient) => create(client, 'x').then(() => 'it worked', messageOf)

describe('a login that ends', () => {
  test('in the middle of a watch: requests and the watch continue with the next one', async () => {
    answers({ token: await tokenBoundTo('one'), expirationTimestamp: inSeconds(2) })
    const client = await clientWith({ exec: { command: script(ANSWER()) } })
    const stop = new AbortController()
    const informer = createInformer({ client, type: CONFIG_MAPS, clock: systemClock, random: seededRandom(1) })
    const running = informer.run(stop.signal)
    ends.push(() => stop.abort(new Error('the test is over')))
    await informer.synced()
    answers({ token: await tokenBoundTo('two'), expirationTimestamp: inSeconds(3_600) })
    await revoke('one')
    await Promise.all(Array.from({ length: 20 }, (_, i) => create(client, `later-${i}`)))
    proxy.reset()
    await create(admin, 'seen')
    await vi.waitFor(() => expect(informer.store.get({ namespace: NAMESPACE, name: 'seen' })).toBeDefined(), 240_000)
    expect(starts()).toHaveLength(2)
    stop.abort(new Error('the test is over'))
    await running
  })

  test('every second is renewed each time, and no request is refused', async () => {
    const client = await clientWith({ exec: { command: script(ANSWER()) } })
    for (const name of ['one', 'two', 'three']) {
      answers({ token: await tokenBoundTo(name), expirationTimestamp: inSeconds(1) })
      await create(client, name)
      await revoke(name)
      await new Promise((resolve) => setTimeout(resolve, 1_100))
    }
    expect(starts()).toHaveLength(3)
  })

  test('certificates of a program are used, and the next ones after them', async () => {
    const pair = { clientCertificateData: server.cert, clientKeyData: server.key }
    answers({ ...pair, expirationTimestamp: inSeconds(1) }, V1BETA1)
    const client = await clientWith({ exec: { apiVersion: V1BETA1, command: script(ANSWER()) } })
    await create(client, 'one')
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    answers({ token: await tokenBoundTo('two') }, V1BETA1)
    await create(client, 'two')
    expect(starts()).toHaveLength(2)
  })
})

describe('a program that fails', () => {
  test.each([
    [
      'with a blank line first',
      'echo >&2; echo "Token has expired; run: cloud login" >&2; exit 3',
      /failed: exit code 3: Token has expired; run: cloud login/,
    ],
    [
      'with a stack trace',
      'printf "Traceback (most recent call last):\\n  File x\\nOSError: no profile\\n" >&2; exit 1',
      /exit code 1: OSError: no profile/,
    ],
    ['with nothing', 'exit 1', /failed: exit code 1;/],
    ['by a signal', 'kill -9 $$', /failed: ended by SIGKILL/],
    ['and prints a bare token', 'echo eyJhbGciOi.secret', /failed: it answered with \d+ characters that are not JSON;/],
    [
      'with another version',
      `echo '{"kind":"ExecCredential","apiVersion":"${V1BETA1}","status":{"token":"t"}}'`,
      /it answers in client.*v1beta1, the kubeconfig expects client.*v1;/,
    ],
    [
      'with no status',
      `echo '{"kind":"ExecCredential","apiVersion":"${V1}"}'`,
      /its answer is not an ExecCredential with a status/,
    ],
    ['with an endless answer', 'yes eyJhbGciOi', /it answered with more than 1024 KiB/],
    ['because it wants a terminal', 'read answer && echo "$answer"', /exit code 1/],
  ] as const)('%s', async (_, body, said) => {
    const failure = await failureOf(await clientWith({ exec: { command: script(body) } }))
    expect(failure).toMatch(/^KN2025: cannot log in as user ada: its credential plugin failed: /)
    expect(failure).toMatch(said)
    expect(failure).not.toContain('eyJ')
  })

  test('as it needs a person: nothing is started without one', async () => {
    const exec = { command: script(ANSWER()), interactiveMode: 'Always' }
    expect(await failureOf(await clientWith({ exec }))).toMatch(/needs a terminal \(interactiveMode: Always\)/)
    expect(starts()).toEqual([])
  })

  test('because it is not installed: the hint of the kubeconfig is shown', async () => {
    const exec = { command: 'kubenode-no-such-login', installHint: 'brew install login' }
    expect(await failureOf(await clientWith({ exec }))).toMatch(
      /there is no program kubenode-no-such-login \(brew install login\)/,
    )
  })
})

describe('a program that hangs', () => {
  /** 60 s pass in 0.6 s. */
  const CLOCK = fastClock(100)
  const identityOf = async (command: string) => {
    const kc = new KubeConfig()
    const exec = { apiVersion: V1, command, interactiveMode: 'Never', env: [] }
    const user: User = { name: 'ada', exec }
    kc.loadFromClusterAndUser({ name: 'c', server: 'https://127.0.0.1:1', skipTLSVerify: false }, user)
    const fresh = () => {
      const copy = new KubeConfig()
      copy.loadFromOptions(kc)
      return copy
    }
    return pluginIdentity({ fresh, user, clusterInfo: async () => undefined, clock: CLOCK })
  }

  test.each([
    ['by itself', 'exec sleep 1000'],
    ['and ignores that it is to end', "trap '' TERM; while :; do sleep 0.1; done"],
    ['in a child that keeps its output open', 'sleep 1000 & echo $! >> "$(dirname "$0")/children"; wait'],
  ])('%s: it is ended, and the next login starts it again', async (_, body) => {
    answers({ token: 'good' })
    const identity = await identityOf(script(`[ -e '${folder}/healed' ] || { ${body}; }\n${ANSWER()}`))
    expect(await identity(false).catch(messageOf)).toMatch(/^KN2025: .* no answer within 60 s/)
    writeFileSync(join(folder, 'healed'), '')
    await expect.poll(() => identity(false).catch(messageOf)).toMatchObject({ token: 'good' })
    expect(starts()).toHaveLength(2)
    if (existsSync(join(folder, 'children'))) process.kill(Number(readFileSync(join(folder, 'children'), 'utf8')))
  })
})

describe('other ways to log in', () => {
  test('tokenFile: the next token is read when the server refuses the one before', async () => {
    writeFileSync(join(folder, 'token'), `${await tokenBoundTo('one')}\n`)
    const client = await clientWith({ user: { tokenFile: 'token' } })
    await create(client, 'one')
    writeFileSync(join(folder, 'token'), await tokenBoundTo('two'))
    await revoke('one')
    await create(client, 'two')
  })

  test.each(['gcp', 'azure'])('auth-provider %s: its command gives the next token', async (name) => {
    writeFileSync(join(folder, 'tokens'), JSON.stringify({ it: await tokenBoundTo('one'), at: inSeconds(3_600) }))
    const config = {
      'access-token': 'old',
      expiry: inSeconds(-60),
      'cmd-path': script(`cat '${folder}/tokens'`),
      'token-key': '{.it}',
      'expiry-key': '{.at}',
    }
    await create(await clientWith({ user: { 'auth-provider': { name, config } } }), 'one')
    expect(readFileSync(join(folder, 'starts'), 'utf8')).toBe('\n')
  })
})

describe('a program receives', () => {
  test('the cluster, if it wants that, with what the kubeconfig says to it', async () => {
    answers({ token: await tokenBoundTo('one') })
    const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'prod' } }]
    writeFileSync(join(folder, 'ca.pem'), server.ca)
    const client = await clientWith({
      exec: { command: script(ANSWER()), provideClusterInfo: true },
      cluster: { 'certificate-authority-data': undefined, 'certificate-authority': 'ca.pem', extensions },
    })
    await create(client, 'one')
    const { spec } = starts()[0] ?? {}
    expect(spec).toEqual({
      interactive: false,
      cluster: {
        server: `https://127.0.0.1:${proxy.port}`,
        'certificate-authority-data': Buffer.from(server.ca).toString('base64'),
        config: { audience: 'prod' },
      },
    })
  })

  test('nothing of the cluster otherwise, and variables of the kubeconfig beside ours', async () => {
    answers({ token: await tokenBoundTo('one') })
    const command = script(`[ "$PROFILE" = prod ] && [ "$1" = token ] && [ -n "$PATH" ] && ${ANSWER()}`)
    await create(
      await clientWith({ exec: { command, args: ['token'], env: [{ name: 'PROFILE', value: 'prod' }] } }),
      'a',
    )
    expect(starts()).toMatchObject([{ apiVersion: V1, kind: 'ExecCredential', spec: { interactive: false } }])
    expect(starts()[0]?.spec['cluster']).toBeUndefined()
  })

  test('that a person is there, who reads what it says', async () => {
    answers({ token: await tokenBoundTo('one') })
    const shown: string[] = []
    const exec = {
      command: script(`echo "open https://login.example and type K-17" >&2; ${ANSWER()}`),
      interactiveMode: 'IfAvailable',
    }
    await create(await clientWith({ exec }, (text) => shown.push(text)), 'one')
    expect(shown.join('')).toBe('open https://login.example and type K-17\n')
    expect(starts()).toMatchObject([{ spec: { interactive: true } }])
  })
})

describe('ways to the server', () => {
  test('KUBECONFIG with several files: the cluster of one, the program of another, a file that is not there', async () => {
    answers({ token: await tokenBoundTo('one') })
    const one = kubeconfig({ name: 'one', user: {} })
    writeFileSync(one, readFileSync(one, 'utf8').replace(/"users":\[.*?\],"contexts"/, '"users":[],"contexts"'))
    const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: 'of two' }]
    const two = kubeconfig({
      name: 'two',
      exec: { command: script(ANSWER()), provideClusterInfo: true },
      cluster: { server: 'https://127.0.0.1:1', extensions },
    })
    const env = { KUBECONFIG: [one, join(folder, 'none'), two].join(delimiter) }
    const { config } = await chosenConnection({ env, cwd: folder })
    const client = clientOf(config, 'test')
    ends.push(() => client.close())
    await create(client, 'one')
    // The cluster is that of the first file, so the words of the second one are not for it.
    expect(starts()[0]?.spec['cluster']).toMatchObject({ server: `https://127.0.0.1:${proxy.port}` })
    expect(starts()[0]?.spec['cluster']).not.toHaveProperty('config')
  })

  test('proxy-url: requests and a watch go through it', async () => {
    answers({ token: await tokenBoundTo('one') })
    const through = await startHttpProxy()
    ends.push(() => through.close())
    const url = `http://ada:secret@127.0.0.1:${through.port}`
    through.wants = `Basic ${Buffer.from('ada:secret').toString('base64')}`
    const client = await clientWith({
      exec: { command: script(ANSWER()), provideClusterInfo: true },
      cluster: { 'proxy-url': url },
    })
    await create(client, 'one')
    const stop = new AbortController()
    const informer = createInformer({ client, type: CONFIG_MAPS, clock: systemClock, random: seededRandom(1) })
    const running = informer.run(stop.signal)
    await informer.synced()
    await create(admin, 'two')
    await vi.waitFor(() => expect(informer.store.get({ namespace: NAMESPACE, name: 'two' })).toBeDefined(), 240_000)
    stop.abort(new Error('the test is over'))
    await running
    expect(new Set(through.opened)).toEqual(new Set([`127.0.0.1:${proxy.port}`]))
    expect(starts()[0]?.spec['cluster']).toMatchObject({ 'proxy-url': url })
  })

  test('a proxy-url that Node does not speak is refused, not left out', async () => {
    const refused = clientWith({ exec: { command: 'x' }, cluster: { 'proxy-url': 'socks5://127.0.0.1:1' } })
    await expect(refused).rejects.toThrow(/^KN2010: cannot connect to cluster c: its proxy is neither http nor https/)
  })

  test('tls-server-name decides which name the certificate must have', async () => {
    answers({ token: await tokenBoundTo('one') })
    const exec = { command: script(ANSWER()) }
    await create(await clientWith({ exec, cluster: { 'tls-server-name': 'localhost' } }), 'one')
    expect(await failureOf(await clientWith({ exec, cluster: { 'tls-server-name': 'other.example' } }))).toMatch(
      /^KN2008: /,
    )
  })

  test('insecure-skip-tls-verify connects, and warns', async () => {
    answers({ token: await tokenBoundTo('one') })
    const exec = { command: script(ANSWER()) }
    const cluster = { 'certificate-authority-data': undefined, 'insecure-skip-tls-verify': true }
    const { warnings } = await chosenConnection({ file: kubeconfig({ exec, cluster }), env: {}, cwd: folder })
    expect(warnings).toMatchObject([expect.stringContaining('NOT verified')])
    await create(await clientWith({ exec, cluster }), 'one')
    expect(await failureOf(await clientWith({ exec, cluster: { 'certificate-authority-data': undefined } }))).toMatch(
      /^KN2004: /,
    )
  })
})

describe('programs of KubeNode', () => {
  const KUBENODE = join(import.meta.dirname, '../../bin/kubenode')
  const hasPty = spawnSync('script', ['--version']).status === 0
  const started = async (command: string, args: readonly string[], input = '') => {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    child.stdin.end(input)
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    return { out, err, code: code as number | null }
  }
  beforeEach(async () => {
    await installAll(admin)
    const { spec } = machine.example
    await admin.create<KubeObject>(machine, { ...apiHead(machine), metadata: { name: 'worker-1' }, spec })
  })

  test('a command logs in, and says why it cannot', async () => {
    answers({ token: await tokenBoundTo('one') })
    const get = ['get', 'machines', '-o', 'name', '--kubeconfig']
    const good = await started(KUBENODE, [...get, kubeconfig({ exec: { command: script(ANSWER()) } })])
    expect(good).toMatchObject({ code: 0, out: 'machine.kubenode.io/worker-1\n' })
    const body = 'echo "Token has expired; run: cloud login" >&2; exit 3'
    const bad = await started(KUBENODE, [...get, kubeconfig({ exec: { command: script(body) } })])
    expect(bad.code).not.toBe(0)
    expect(bad.err).toContain(
      'KN2025: cannot log in as user ada: its credential plugin failed: exit code 3: Token has expired',
    )
  })

  test.skipIf(!hasPty)('a command at a terminal lets the program ask there', async () => {
    answers({ token: await tokenBoundTo('one') })
    const body = `echo "type the code" >&2; read code; [ "$code" = K-17 ] || exit 4; ${ANSWER()}`
    const file = kubeconfig({ exec: { command: script(body), interactiveMode: 'IfAvailable' } })
    const line = `${KUBENODE} get machines -o name --kubeconfig ${file}`
    const { out, code } = await started('script', ['-qec', line, '/dev/null'], 'K-17\n')
    expect(out).toContain('type the code')
    expect(out).toContain('machine.kubenode.io/worker-1')
    expect(code).toBe(0)
    expect(starts().map(({ spec }) => spec['interactive'])).toEqual([true])
  })

  test('the console connects, and stays connected when the login ends', async () => {
    answers({ token: await tokenBoundTo('one'), expirationTimestamp: inSeconds(3) })
    const file = kubeconfig({ exec: { command: script(ANSWER()) } })
    const child = spawn(KUBENODE, ['console', '--kubeconfig', file], { stdio: ['ignore', 'pipe', 'pipe'] })
    ends.push(async () => {
      child.kill('SIGINT')
      await once(child, 'exit')
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (more: Buffer) => (said += more.toString()))
    const link = await vi.waitFor(() => /http:\S+\/link\/\S+/.exec(said)?.[0] ?? expect.fail(said), 240_000)
    const browser = new Browser(Number(new URL(link).port))
    await browser.open(link)
    await expect.poll(async () => (await browser.json<Session>('/api/session')).clusters[0]?.state).toBe('Connected')
    answers({ token: await tokenBoundTo('two') })
    await revoke('one')
    proxy.reset()
    await admin.create<KubeObject>(machine, {
      ...apiHead(machine),
      metadata: { name: 'worker-2' },
      spec: machine.example.spec,
    })
    await expect.poll(() => starts().length).toBeGreaterThan(1)
    await expect.poll(async () => (await browser.json<Session>('/api/session')).clusters[0]?.state).toBe('Connected')
  })
})
