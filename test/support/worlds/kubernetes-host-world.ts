// A hub whose pods are processes of this host, and a host of control planes on it: real programs from the folder that KUBEBUILDER_ASSETS names, and of the minor
// before from KUBEBUILDER_ASSETS_BEFORE.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { KubernetesHost, type KubernetesHostOptions } from '#controlplanes/kubernetes/host.ts'
import { parseVersionFile, type ServedVersion } from '#controlplanes/kubernetes/version-file.ts'
import type { ControlPlaneShape } from '#controlplanes/port.ts'
import type { Readiness } from '#controlplanes/upgrade/seen.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { asLeader } from '#test/support/servers/as-leader.ts'
import { startEmbedded } from '../servers/api-servers.ts'
import { programFile, whyNoPrograms } from '../servers/real/programs.ts'
import { PodRunner } from './pod-runner.ts'

const DIGEST = `sha256:${'ab'.repeat(32)}`

/** Without programs of the older minor those of the newer one play it, by emulation. Its image says which it is. */
const row = (version: string, minor: number, emulatesFrom: number) => ({
  version,
  etcd: '3.5.30',
  emulatesFrom,
  images: {
    etcd: `registry.test/etcd@${DIGEST}`,
    apiserver: `registry.test/kube-apiserver-as-${minor}@${DIGEST}`,
    'controller-manager': `registry.test/kube-controller-manager-as-${minor}@${DIGEST}`,
    scheduler: `registry.test/kube-scheduler-as-${minor}@${DIGEST}`,
  },
})

export const REAL_VERSIONS: readonly ServedVersion[] = (() => {
  const file = parseVersionFile(JSON.stringify({ versions: [row('1.35.9', 35, 34), row('1.36.2', 36, 34)] }))
  if ('problems' in file) throw new Error(file.problems.join('; '))
  return file.rows
})()

/** Programs end soon, and are reached at a port of this host. */
export const REAL_SHAPE: Partial<ControlPlaneShape> = {
  etcd: { members: 1, storage: '1Gi' },
  endpoint: { type: 'NodePort', host: '127.0.0.1' },
  extraArgs: { 'apiserver.shutdown-delay-duration': '1s' },
}

const ETCDCTL = ['/usr/bin/etcdctl', '/usr/local/bin/etcdctl']
const assets = (name: string): string => join(process.env['KUBEBUILDER_ASSETS'] ?? '', name)
/** The etcd of a distribution is older. */
export const REAL_ETCD = existsSync(assets('etcdutl')) ? '3.5.30' : '3.4.23'
const PRESENT_VERSIONS = REAL_VERSIONS.map((row) => ({ ...row, etcd: REAL_ETCD }))
/** The programs of etcd that take and restore snapshots; etcdctl did all of it before 3.5. */
export const careProgram = (program: string): string | undefined =>
  [assets(program), assets('etcdctl'), ...ETCDCTL].find((file) => existsSync(file))

export const whyNoHost = (): string | undefined => whyNoPrograms() ?? whyNoEtcdHost()

/** Of a world of etcd alone. */
export const whyNoEtcdHost = (): string | undefined =>
  whyNoPrograms(['etcd']) ?? (careProgram('etcdutl') === undefined ? 'no etcdctl' : undefined)

function programOf(program: string, image: string) {
  if (program === 'etcdctl' || program === 'etcdutl') return { file: careProgram(program) ?? program, more: [] }
  const [, minor] = /-as-(\d+)@/.exec(image) ?? []
  const before = join(process.env['KUBEBUILDER_ASSETS_BEFORE'] ?? '', program)
  if (minor === '35' && process.env['KUBEBUILDER_ASSETS_BEFORE'] !== undefined) return { file: before, more: [] }
  const file = programFile(program as Parameters<typeof programFile>[0])
  return { file, more: minor === '35' ? ['--emulated-version=1.35'] : [] }
}

const known = <T>(value: T) => ({ known: true, value }) as const
export const ALL_WELL: Readiness = {
  kubelets: known(undefined),
  removedApisInUse: known([]),
  unreadyNodes: known({ total: 0, names: [] }),
  blockingBudgets: known([]),
  deafWebhooks: known([]),
  unfitAddons: known([]),
  etcd: known({ isHealthy: true, usedOfQuota: 0.1 }),
  surgeTrouble: known(undefined),
}

/** A world of etcd alone has programs of another kind in place of those that use it. */
export async function kubernetesHostWorld(inPlace?: (program: string) => string | undefined) {
  const hub = await startEmbedded()
  const client = new HttpKubeClient({
    server: hub.url,
    ca: { data: hub.ca },
    clientCertificate: { cert: { data: hub.cert }, key: { data: hub.key } },
  })
  const runner = new PodRunner(client, (program, image) => {
    const other = inPlace?.(program)
    return other === undefined ? programOf(program, image) : { file: other, more: [] }
  })
  const host = (more: Partial<KubernetesHostOptions> = {}) =>
    new KubernetesHost({
      client: asLeader(client),
      fieldManager: FIELD_MANAGERS.cluster,
      clock: systemClock,
      versions: () => PRESENT_VERSIONS,
      readLog: runner.readLog,
      readings: async () => ALL_WELL,
      ...more,
    })
  return {
    hub,
    client,
    runner,
    host,
    close: async () => {
      await runner.close()
      client.close()
      await hub.stop()
    },
  }
}
