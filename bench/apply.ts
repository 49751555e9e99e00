// Applies 1,000 new objects to one server as sync does (inventory, server-side apply, inventory, and everything read again), then the same objects with one of them
// changed, as most commits do; beside it, in turns, what `kubectl apply --server-side` does with the same objects: they are in another namespace for each side
// and round. The processor time of the server bounds both: where kubectl is not held back, no client is faster than the server.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SYSTEM_NAMESPACE, FIELD_MANAGERS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import type { KubeClient } from '#kube/client.ts'
import { connectTo } from '#delivery/connection.ts'
import { type DesiredObject } from '#delivery/desired.ts'
import { applyToCluster } from '#sync/cluster/apply.ts'
import { manifests } from '#test/support/servers/installed.ts'
import { startEmbedded, startReal } from './apiserver/servers.ts'
import { benchErrors } from './bench-errors.ts'
import { cpuOf, cpuOfChildren } from './sync/process-cpu.ts'
import { median, rounded } from './result.ts'
import type { BenchOptions, BenchResult, ServerKind, Figures } from './result.ts'

export const servers: readonly ServerKind[] = ['embedded', 'real']

const OBJECTS = 1_000
const ROUNDS = 5
const CRD = coreKind('CustomResourceDefinition')
const NAMESPACE = coreKind('Namespace')
const by = { fieldManager: FIELD_MANAGERS.cli, force: true } as const

/** The first object has another value in each edition. */
const configMap = (namespace: string, i: number, edition: number) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `m-${i}`, namespace },
  data: {
    text: `a value of ordinary length, number ${i}`,
    other: i === 0 ? `edition ${edition}` : 'the same everywhere',
  },
})

interface Side {
  readonly ms: number
  readonly cpuMs: number
  readonly serverMs: number
}

interface Round {
  readonly ours: Side
  readonly theirs: Side
  readonly oursChange: Side
  readonly theirsChange: Side
}

export const smoke: Figures = { objects: 5, rounds: 1 }

export async function run({ numbers, server: kind }: BenchOptions): Promise<BenchResult> {
  const objects = numbers['objects'] ?? OBJECTS
  const rounds = numbers['rounds'] ?? ROUNDS
  const kubectl = kubectlPath()
  const dir = mkdtempSync(join(tmpdir(), 'kubenode-bench-apply-'))
  const server = kind === 'real' ? await startReal() : await startEmbedded()
  const { host, port, ca, cert, key } = server.target
  const client = new HttpKubeClient({
    server: `https://${host}:${port}`,
    ca: { data: ca },
    clientCertificate: { cert: { data: cert }, key: { data: key } },
  })
  try {
    const files = { ca: join(dir, 'ca.crt'), cert: join(dir, 'tls.crt'), key: join(dir, 'tls.key') }
    for (const [name, text] of [
      [files.ca, ca],
      [files.cert, cert],
      [files.key, key],
    ] as const)
      writeFileSync(name, text, { mode: 0o600 })
    const access = [
      `--server=https://${host}:${port}`,
      `--certificate-authority=${files.ca}`,
      `--client-certificate=${files.cert}`,
      `--client-key=${files.key}`,
      `--cache-dir=${join(dir, 'cache')}`,
    ]
    await client.apply(NAMESPACE, namespaceOf(SYSTEM_NAMESPACE), by)
    for (const crd of manifests().kinds) await client.apply(CRD, crd, by)
    const { pids } = server.target
    const ourCpu = () => (process.cpuUsage().user + process.cpuUsage().system) / 1_000
    const rows: Round[] = []
    for (let round = 0; round <= rounds; round++) {
      const [ours, theirs] = [`ours-${round}`, `theirs-${round}`]
      const run = { kubectl, access, dir, namespace: theirs, objects }
      for (const name of [ours, theirs]) await client.apply(NAMESPACE, namespaceOf(name), by)
      const row: Round = {
        ours: await sideOf(pids, ourCpu, () => oursOnce(client, { namespace: ours, objects, edition: 1 })),
        theirs: await sideOf(pids, cpuOfChildren, () => kubectlOnce(run, 1)),
        oursChange: await sideOf(pids, ourCpu, () => oursOnce(client, { namespace: ours, objects, edition: 2 })),
        theirsChange: await sideOf(pids, cpuOfChildren, () => kubectlOnce(run, 2)),
      }
      // The first round warms both up.
      if (round > 0) rows.push(row)
    }
    const middle = (of: (row: Round) => number) => rounded(median(rows.map(of)))
    const costs = (all: 'ours' | 'theirs', change: 'oursChange' | 'theirsChange') => ({
      apply_1000_ms: middle((r) => r[all].ms),
      // Of the client alone, which a busy machine does not change much.
      apply_cpu_ms: middle((r) => r[all].cpuMs),
      apply_server_cpu_ms: middle((r) => r[all].serverMs),
      change_one_ms: middle((r) => r[change].ms),
      change_one_cpu_ms: middle((r) => r[change].cpuMs),
      change_one_server_cpu_ms: middle((r) => r[change].serverMs),
    })
    return {
      figures: {
        ...costs('ours', 'oursChange'),
        objects,
        rounds: rows.length,
      },
      peer: {
        name: 'kubectl apply --server-side',
        figures: costs('theirs', 'theirsChange'),
      },
      ratio: {
        kubectl: middle((r) => r.theirs.ms / r.ours.ms),
        // Of a client that takes no time itself: the embedded server answers on one core.
        ...(kind === 'embedded' && { kubectl_at_most: middle((r) => r.theirs.ms / r.ours.serverMs) }),
        kubectl_cpu: middle((r) => r.theirs.cpuMs / r.ours.cpuMs),
        kubectl_change_one: middle((r) => r.theirsChange.ms / r.oursChange.ms),
      },
      versions: { kubectl: versionOf(kubectl) },
    }
  } finally {
    client.close()
    await server.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

const namespaceOf = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })

/** The one beside the real server's binaries, or that of the machine. */
function kubectlPath(): string {
  const { env } = process
  const beside = join(env['KUBEBUILDER_ASSETS'] ?? '', 'kubectl')
  if (env['KUBEBUILDER_ASSETS'] !== undefined && existsSync(beside)) return beside
  if (spawnSync('kubectl', ['version', '--client'], { stdio: 'ignore' }).status === 0) return 'kubectl'
  throw new KubeNodeError(benchErrors.KN9006_kubectl())
}

const versionOf = (kubectl: string): string =>
  (
    JSON.parse(execFileSync(kubectl, ['version', '--client', '-o', 'json'], { encoding: 'utf8' })) as {
      readonly clientVersion: { readonly gitVersion: string }
    }
  ).clientVersion.gitVersion

async function sideOf(pids: readonly number[], cpu: () => number, work: () => Promise<void> | void): Promise<Side> {
  const [startedAt, cpuBefore, serverBefore] = [systemClock.monotonic(), cpu(), cpuOf(pids)]
  await work()
  return {
    ms: systemClock.monotonic() - startedAt,
    // The kernel counts processor time of other processes in steps of ten milliseconds.
    cpuMs: Math.max(1, cpu() - cpuBefore),
    serverMs: cpuOf(pids) - serverBefore,
  }
}

interface Content {
  readonly namespace: string
  readonly objects: number
  readonly edition: number
}

async function oursOnce(client: KubeClient, { namespace, objects: count, edition }: Content): Promise<void> {
  const objects = Array.from({ length: count }, (_, i): DesiredObject => {
    const object = configMap(namespace, i, edition)
    const ref = { group: '', kind: 'ConfigMap', namespace, name: object.metadata.name }
    return { ref, object, digest: sha256OfJson(object) }
  })
  const { answer: look, result } = await applyToCluster(
    connectTo('bench', client, () => systemClock.monotonic()),
    {
      target: { objects, rejected: [] },
      owner: { source: 'kubenode-system/fleet', track: namespace, target: 'Member', cluster: 'bench' },
      mark: { commit: String(edition).repeat(40), release: namespace, appliedAt: timestamp(systemClock.now()) },
      config: { commit: String(edition).repeat(40), prune: { enabled: true, guard: '10%' }, drift: 'Correct' },
      elsewhere: new Set(),
      approved: new Set(),
      needs: { machines: false, repairs: false },
    },
  )
  if (look.kind !== 'Seen' || !look.isApplied || result?.applied !== (edition === 1 ? count : 1))
    throw new Error(`not everything was applied: ${JSON.stringify({ look, result }).slice(0, 500)}`)
}

interface KubectlRun {
  readonly kubectl: string
  readonly access: readonly string[]
  readonly dir: string
  readonly namespace: string
  readonly objects: number
}

function kubectlOnce({ kubectl, access, dir, namespace, objects }: KubectlRun, edition: number): void {
  const items = Array.from({ length: objects }, (_, i) => configMap(namespace, i, edition))
  const file = join(dir, `${namespace}.json`)
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  execFileSync(kubectl, [...access, 'apply', '--server-side', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] })
}
