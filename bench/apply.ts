// Applies 1,000 new objects to one server as sync does (inventory, server-side apply, inventory, and everything read again), and beside it, in turns, what
// `kubectl apply --server-side` does with the same objects: they are in another namespace for each side and round.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SYSTEM_NAMESPACE, FIELD_MANAGERS } from '#api/names.ts'
import { systemClock, timestamp } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import type { KubeClient } from '#kube/client.ts'
import { connectTo } from '#delivery/connection.ts'
import { digestOf, type DesiredObject } from '#delivery/desired.ts'
import { lookAtCluster } from '#sync/cluster/look.ts'
import { manifests } from '#test/support/servers/installed.ts'
import { startEmbedded, startReal } from './apiserver/servers.ts'
import { benchErrors } from './bench-errors.ts'
import { median, rounded } from './result.ts'
import type { BenchOptions, BenchResult, ServerKind } from './result.ts'

export const servers: readonly ServerKind[] = ['embedded', 'real']

const OBJECTS = 1_000
const ROUNDS = 5
const CRD = coreKind('CustomResourceDefinition')
const NAMESPACE = coreKind('Namespace')
const by = { fieldManager: FIELD_MANAGERS.cli, force: true } as const

const configMap = (namespace: string, i: number) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `m-${i}`, namespace },
  data: { text: `a value of ordinary length, number ${i}`, other: 'the same everywhere' },
})

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
    const rows: { readonly ours: number; readonly cpu: number; readonly theirs: number }[] = []
    for (let round = 0; round <= rounds; round++) {
      const cpuBefore = process.cpuUsage()
      const ours = await timedOurs(client, `ours-${round}`, objects)
      const { user, system } = process.cpuUsage(cpuBefore)
      const theirs = await timedKubectl(client, { kubectl, access, dir, namespace: `theirs-${round}`, objects })
      // The first round warms both up.
      if (round > 0) rows.push({ ours, cpu: (user + system) / 1_000, theirs })
    }
    return {
      figures: {
        apply_1000_ms: rounded(median(rows.map((r) => r.ours))),
        // Of sync alone, which a busy machine does not change much.
        apply_cpu_ms: rounded(median(rows.map((r) => r.cpu))),
        objects,
        rounds: rows.length,
      },
      peer: {
        name: 'kubectl apply --server-side',
        figures: { apply_1000_ms: rounded(median(rows.map((r) => r.theirs))) },
      },
      ratio: { kubectl: rounded(median(rows.map((r) => r.theirs / r.ours))) },
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
  throw new KubeNodeError(benchErrors.KN9007())
}

const versionOf = (kubectl: string): string =>
  (
    JSON.parse(execFileSync(kubectl, ['version', '--client', '-o', 'json'], { encoding: 'utf8' })) as {
      readonly clientVersion: { readonly gitVersion: string }
    }
  ).clientVersion.gitVersion

async function timedOurs(client: KubeClient, namespace: string, count: number): Promise<number> {
  await client.apply(NAMESPACE, namespaceOf(namespace), by)
  const objects = Array.from({ length: count }, (_, i): DesiredObject => {
    const object = configMap(namespace, i)
    const ref = { group: '', kind: 'ConfigMap', namespace, name: object.metadata.name }
    return { ref, object, digest: digestOf(object) }
  })
  const startedAt = systemClock.monotonic()
  const { look, result } = await lookAtCluster(
    connectTo('bench', client, () => systemClock.monotonic()),
    {
      target: { objects, rejected: [] },
      owner: { source: 'kubenode-system/fleet', track: namespace, target: 'Member', cluster: 'bench' },
      mark: { commit: '0'.repeat(40), release: namespace, appliedAt: timestamp(systemClock.now()) },
      config: { commit: '0'.repeat(40), prune: { enabled: true, guard: '10%' }, drift: 'Correct' },
      elsewhere: new Set(),
      approved: new Set(),
      needs: { machines: false, repairs: false },
    },
  )
  const ms = systemClock.monotonic() - startedAt
  if (look.kind !== 'Seen' || !look.isApplied || result?.applied !== count)
    throw new Error(`not everything was applied: ${JSON.stringify(look).slice(0, 500)}`)
  return ms
}

interface KubectlRun {
  readonly kubectl: string
  readonly access: readonly string[]
  readonly dir: string
  readonly namespace: string
  readonly objects: number
}

async function timedKubectl(client: KubeClient, run: KubectlRun): Promise<number> {
  const { kubectl, access, dir, namespace, objects } = run
  await client.apply(NAMESPACE, namespaceOf(namespace), by)
  const items = Array.from({ length: objects }, (_, i) => configMap(namespace, i))
  const file = join(dir, `${namespace}.json`)
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  const startedAt = systemClock.monotonic()
  execFileSync(kubectl, [...access, 'apply', '--server-side', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  return systemClock.monotonic() - startedAt
}
