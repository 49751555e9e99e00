// The image as the kubelet runs it: built from this checkout, imported into containerd, each role with its own service account and the security context of our pods.
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest'
import { hostedAccount } from '#api/names.ts'
import { ROLE_NAMES, type RoleName } from '#programs/all.ts'
import { readIndex, readManifest } from '#artifacts/oci/descriptor.ts'
import { LayoutStore } from '#artifacts/oci/layout-store.ts'
import { startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'
import { PrivateContainerd, whyNoContainers, type Container } from '#test/support/servers/containerd.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'
import { until } from '#test/support/tools/processes.ts'
import { freePort } from '#test/support/servers/free-port.ts'
import { newAuthority } from '#test/support/servers/tls.ts'

const ROOT = join(import.meta.dirname, '../..')
const KUBENODE = join(ROOT, 'bin/kubenode')
const NAME = 'kubenode.test/kubenode:trial'
/** sync renders in Jobs of it. */
const IMAGE = `kubenode.test/kubenode@sha256:${'0'.repeat(64)}`
const CACHE = '/var/cache/kubenode'
const CONSOLE = '/etc/kubenode-console'
const MORE: Readonly<
  Partial<
    Record<
      RoleName,
      {
        readonly args: readonly string[]
        readonly empty: readonly string[]
        /** Mounted folders. */
        readonly files?: Readonly<Record<string, () => Promise<string>>>
      }
    >
  >
> = {
  sync: { args: ['--cache', `${CACHE}/git`, '--render-image', IMAGE], empty: [CACHE] },
  // Nothing listens there: its Clusters wait for their host, and the role serves.
  cluster: { args: ['--control-planes', '/tmp/control.sock'], empty: [] },
  artifacts: { args: ['--artifacts-folder', CACHE, '--artifacts-host', 'artifacts.test'], empty: [CACHE] },
  history: { args: ['--history', `${CACHE}/history`], empty: [CACHE] },
  hosted: { args: ['--hosted', 'controllers'], empty: [] },
  console: {
    args: ['--console-config', `${CONSOLE}/console.json`, '--console-listen', '127.0.0.1:0'],
    empty: [],
    files: { [CONSOLE]: consoleFiles },
  },
}
/** All their replicas serve, so they have no leader. */
const LEADERLESS: readonly RoleName[] = ['artifacts', 'console', 'hosted']
/** Whose account it has. */
const programOf = (role: RoleName): string => (role === 'hosted' ? hostedAccount('controllers') : role)
const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
/** Under load a program takes some seconds to start. */
const PATIENCE_MS = 200_000
const MAX_COMPRESSED = 90 * 1024 * 1024
const ARCHITECTURE = process.arch === 'arm64' ? 'arm64' : 'amd64'

let folder: string
let layout: string
/** Why the image is not there. */
let noImage: string | undefined
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-image-test-'))
  layout = join(folder, 'layout')
  const built = kubenode('image', 'build', '--arch', ARCHITECTURE, '--name', NAME, '--output', layout)
  // Without a network the packages cannot be fetched; anything else is a failure.
  if (/KN1120|KN1050/.test(built.stderr)) noImage = built.stderr.trim()
  else if (built.status !== 0) throw new Error(built.stderr)
}, 300_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const kubenode = (...args: readonly string[]) =>
  spawnSync(KUBENODE, args, { encoding: 'utf8', env: { ...process.env, DOCKER_CONFIG: folder } })

const needsImage = (context: TestContext): void => {
  if (noImage !== undefined) context.skip(noImage)
}

test('one platform of it takes at most 90 MiB to download', async (context) => {
  needsImage(context)
  const store = LayoutStore.open(layout)
  const [index] = store.manifests.filter((m) => m.mediaType.includes('index'))
  const image = await store.manifest(index?.digest ?? '')
  const [platform] = readIndex('index', image?.bytes ?? Buffer.alloc(0)).manifests
  const manifest = await store.manifest(platform?.digest ?? '')
  const { layers } = readManifest('image', manifest?.bytes ?? Buffer.alloc(0))
  const bytes = layers.reduce((all, l) => all + l.size, 0)
  expect(layers.length).toBe(3)
  expect(bytes).toBeGreaterThan(0)
  expect(bytes).toBeLessThan(MAX_COMPRESSED)
})

describe('in containerd', () => {
  let containerd: PrivateContainerd | undefined
  /** By digest, as pods name it. */
  let reference: string
  let server: RunningServer
  let kubectl: Kubectl
  beforeAll(async () => {
    if (noImage !== undefined || whyNoContainers() !== undefined) return
    containerd = await PrivateContainerd.start()
    const loaded = kubenode('image', 'load', layout, '--address', containerd.address)
    if (loaded.status !== 0) throw new Error(loaded.stderr)
    reference = loaded.stdout.trim()
    server = await startEmbedded()
    kubectl = new Kubectl(server)
    for (const part of ['crds', 'install', 'hub']) await kubectl.ok('apply -f', [join(ROOT, 'deploy', part)])
    // The chart makes it where the hub runs programs of Clusters.
    await kubectl.ok(`create serviceaccount kubenode-${hostedAccount('controllers')} -n kubenode-system`)
  }, 300_000)
  afterAll(async () => {
    await containerd?.stop()
    await (server as RunningServer | undefined)?.stop()
  })

  const opened = (context: TestContext): PrivateContainerd => {
    needsImage(context)
    const why = whyNoContainers()
    if (containerd === undefined) return context.skip(why ?? 'containerd did not start')
    return containerd
  }

  test('it has no shell, writes only to /tmp, and has no power', async (context) => {
    const engine = opened(context)
    const script = `
      const { existsSync, readFileSync, writeFileSync } = require('node:fs')
      const { execFileSync } = require('node:child_process')
      const tries = (path) => { try { writeFileSync(path, ''); return true } catch { return false } }
      const status = readFileSync('/proc/self/status', 'utf8')
      console.log(JSON.stringify({
        user: process.getuid(),
        shells: ['/bin/sh', '/bin/bash', '/usr/bin/sh', '/usr/bin/perl', '/usr/bin/dash'].filter((f) => existsSync(f)),
        writable: ['/app/x', '/etc/x', '/usr/x', '/x', '/tmp/x'].filter(tries),
        powers: /CapEff:\\s*0+$/m.test(status) && /CapBnd:\\s*0+$/m.test(status) && /NoNewPrivs:\\s*1/.test(status),
        git: execFileSync('git', ['--version']).toString().trim().split(' ').slice(0, 2).join(' '),
        authorities: readFileSync(process.env.SSL_CERT_FILE, 'utf8').split('BEGIN CERTIFICATE').length > 100,
      }))`
    expect(reference).toMatch(/^kubenode\.test\/kubenode@sha256:[0-9a-f]{64}$/)
    const container = engine.run('look', { image: reference, args: ['/usr/local/bin/node', '-e', script] })
    expect(await container.ended, container.output()).toBe(0)
    expect(JSON.parse(container.output())).toEqual({
      user: 65_532,
      shells: [],
      writable: ['/tmp/x'],
      powers: true,
      git: 'git version',
      authorities: true,
    })
  })

  test('it makes the files for hosts without a bundler', async (context) => {
    const engine = opened(context)
    const container = engine.run('bundle', {
      image: NAME,
      args: ['kubenode', 'agent', 'bundle', '--out', '/out'],
      empty: ['/out'],
    })
    expect(await container.ended, container.output()).toBe(0)
    expect(container.output()).toMatch(/"file":"\/out\/agent-linux-\w+\.tar\.gz","bytes":\d{8}/)
  })

  test('each role becomes leader with its own account, answers, and releases its lease at SIGTERM', async (context) => {
    const engine = opened(context)
    const { hostname, port } = new URL(server.url)
    const pods: { readonly role: RoleName; readonly pod: Pod }[] = []
    // One after the other: twelve programs that start at once on few processors cost each other their renewals.
    for (const role of ROLE_NAMES) {
      const health = await freePort()
      const folders = { [ACCOUNT]: await accountOf(programOf(role), role), ...(await mounted(MORE[role]?.files)) }
      const shared = `kubenode run --roles ${role} --cluster trial --health-listen 127.0.0.1:${health}`.split(' ')
      const start = (name: string) =>
        engine.run(name, {
          image: reference,
          args: [...shared, ...(MORE[role]?.args ?? [])],
          env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
          folders,
          empty: MORE[role]?.empty ?? [],
        })
      const pod = new Pod(start, `role-${role}`)
      pods.push({ role, pod })
      await untilItLeads(role, pod)
      await untilOrEnded(pod, `${role} is ready`, async () => {
        const answers = await Promise.all(['healthz', 'readyz'].map((p) => fetch(`http://127.0.0.1:${health}/${p}`)))
        return answers.every((a) => a.status === 200) ? true : undefined
      })
    }
    for (const { role, pod } of pods) {
      await untilItLeads(role, pod)
      await pod.terminate()
      expect(await pod.ended, `${role}: ${pod.output()}`).toBe(0)
      expect(await holderOf(role), pod.output()).toBe('')
    }
  }, 240_000)

  test('role cluster and the process beside it bring a Cluster up, on a volume as the kubelet mounts one', async (context) => {
    const engine = opened(context)
    const { hostname, port } = new URL(server.url)
    const [health, first] = [await freePort(), await freePort()]
    const [control, data] = ['control', 'planes'].map((name) => {
      const path = join(folder, name)
      mkdirSync(path)
      chownSync(path, 0, 65_532)
      chmodSync(path, 0o2775)
      return path
    })
    const shared = { '/run/kubenode': control ?? '' }
    const socket = '/run/kubenode/control.sock'
    const planes = engine.run('control-planes', {
      image: reference,
      args: `kubenode apiserver --no-server --control-planes /var/lib/kubenode/control-planes --control-socket ${socket} --host 127.0.0.1 --port ${first} --most 2 --health-listen 127.0.0.1:${health}`.split(
        ' ',
      ),
      volumes: { ...shared, '/var/lib/kubenode': data ?? '' },
    })
    await untilOrEnded(planes, 'the process of control planes is healthy', async () =>
      (await fetch(`http://127.0.0.1:${health}/healthz`)).status === 200 ? true : undefined,
    )
    const role = engine.run('role-cluster-beside', {
      image: reference,
      args: `kubenode run --roles cluster --cluster trial --control-planes ${socket}`.split(' '),
      env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
      folders: { [ACCOUNT]: await accountOf('cluster', 'beside') },
      volumes: shared,
    })
    const cluster = join(folder, 'cluster.yaml')
    writeFileSync(
      cluster,
      `apiVersion: kubenode.io/v1alpha1
kind: Cluster
metadata: { name: one, namespace: kubenode-system }
spec: { version: 1.36.0, controlPlane: { flavor: embedded }, deletionPolicy: Delete }
`,
    )
    await kubectl.ok('apply -f', [cluster])
    const path = '-n kubenode-system -o jsonpath={.status.phase}{.status.addons[0].healthy}{.status.endpoint}'
    await untilOrEnded(role, 'the Cluster is Ready', async () => {
      const seen = await kubectl.ok(`get clusters.kubenode.io one ${path}`)
      if (seen === `ReadyTruehttps://127.0.0.1:${first}`) return true
      throw new Error(`${seen}\n${planes.output()}\n${role.output()}`)
    })
    await Promise.all([planes, role].map((c) => c.kill('SIGTERM')))
    expect([await planes.ended, await role.ended], `${planes.output()}${role.output()}`).toEqual([0, 0])
  }, 240_000)

  /** The files of a projected token, as a pod has them. */
  async function accountOf(role: string, name = role): Promise<string> {
    const account = join(folder, `account-${name}`)
    mkdirSync(account)
    const token = (await kubectl.ok(`create token kubenode-${role} -n kubenode-system`)).trim()
    const files = { token, 'ca.crt': server.ca, namespace: 'kubenode-system' }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(account, name), text)
    for (const path of [folder, account, ...Object.keys(files).map((name) => join(account, name))])
      chmodSync(path, 0o755)
    return account
  }

  /** This process, not the one before a restart of it. */
  const untilItLeads = (role: RoleName, pod: Pod): Promise<void> =>
    untilOrEnded(pod, `${role} leads`, async () => {
      if (LEADERLESS.includes(role)) return true
      const holder = await holderOf(role)
      return holder !== '' && pod.current().includes(holder) ? true : undefined
    })

  const holderOf = async (role: string): Promise<string> => {
    const path = '-n kubenode-system -o jsonpath={.spec.holderIdentity} --ignore-not-found'
    return (await kubectl.ok(`get lease kubenode-${role} ${path}`)).trim()
  }
})

/** Restarts of one pod that are no failure: each follows a leadership that was lost on a busy machine. */
const MAX_RESTARTS = 3

/** Starts its container again when leadership was lost, as the kubelet does: that program ends by design. Any other end is final. */
class Pod {
  readonly ended: Promise<number | null>
  #container: Container
  #isTerminating = false
  #before = ''

  constructor(start: (name: string) => Container, name: string) {
    this.#container = start(name)
    this.ended = this.#keep(start, name)
  }

  async #keep(start: (name: string) => Container, name: string): Promise<number | null> {
    for (let restart = 1; ; restart++) {
      const code = await this.#container.ended
      const isLost = this.#container.output().includes('"reason":"LeadershipLost"')
      if (!isLost || this.#isTerminating || restart > MAX_RESTARTS) return code
      this.#before += this.#container.output()
      this.#container = start(`${name}-${restart}`)
    }
  }

  /** What its running program has printed. */
  current = (): string => this.#container.output()

  output = (): string => this.#before + this.#container.output()

  terminate(): Promise<void> {
    this.#isTerminating = true
    return this.#container.kill('SIGTERM')
  }
}

/** What the role console reads: its names, and a certificate for them. */
async function consoleFiles(): Promise<string> {
  const path = join(folder, 'console')
  mkdirSync(path)
  const authority = await newAuthority()
  const { cert, key } = await authority.server(['console.test'])
  const config = { names: ['console.test'], cert: `${CONSOLE}/tls.crt`, key: `${CONSOLE}/tls.key` }
  const files = { 'tls.crt': cert, 'tls.key': key, 'console.json': JSON.stringify(config) }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text, { mode: 0o644 })
  for (const open of [folder, path]) chmodSync(open, 0o755)
  return path
}

async function mounted(
  files: Readonly<Record<string, () => Promise<string>>> = {},
): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries(await Promise.all(Object.entries(files).map(async ([at, make]) => [at, await make()])))
}

type Running = Pick<Container, 'ended' | 'output'>

async function untilOrEnded(container: Running, what: string, look: () => Promise<true | undefined>): Promise<void> {
  let code: number | null | undefined
  void container.ended.then((c) => (code = c))
  await until(
    what,
    () => {
      if (code !== undefined) return Promise.resolve(true as const)
      return look()
    },
    PATIENCE_MS,
  ).catch((e: unknown) => {
    throw new Error(`${String(e)}\n${container.output()}`)
  })
  if (code !== undefined) throw new Error(`${what}: it ended with ${code}\n${container.output()}`)
}
