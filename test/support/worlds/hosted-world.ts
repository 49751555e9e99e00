// Replicas of hosted programs as processes of their own, beside a hub with Clusters: started, killed, and asked for what they run.
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ANNOTATIONS, hostedAccount, hostedNamespace, type HostedProgram } from '#api/names.ts'
import { addonsOf } from '#controllers/cluster/addons/built-in.ts'
import { releaseManifests } from '#delivery/release-manifests.ts'
import { VERSION } from '#lib/program-version.ts'
import { systemClock } from '#lib/system-clock.ts'
import { provideIdentity } from '#programs/local/identities.ts'
import { leaseType } from '#runtime/lease.ts'
import { programFile } from '../tools/own-build.ts'
import { settingsOf, wholeValues } from '../../../deploy/charts/any-settings.ts'
import { inClusterObjects } from '../../../deploy/charts/in-clusters.ts'
import { clusterWorld, type ClusterWorld } from './cluster-world.ts'

export interface Replica {
  readonly process: ChildProcess
  /** Folder of the output of its processes. */
  readonly logs: string
  readonly ended: Promise<void>
}

export interface HostedWorld extends ClusterWorld {
  replica(program: HostedProgram, ...options: readonly string[]): Promise<Replica>
  /** The Clusters that each Lease of the program lists, by the name of the Lease. */
  hosts(program: HostedProgram): Promise<ReadonlyMap<string, readonly string[]>>
}

/** Log lines of a replica and of the processes that it ran. */
export interface LogLine {
  readonly time: string
  readonly message: string
  readonly cluster?: string
  /** Of a process that ended. */
  readonly clusters?: readonly string[]
  readonly replica: string
}

export const rawLogOf = ({ logs }: Replica): string =>
  (existsSync(logs) ? readdirSync(logs) : []).map((file) => readFileSync(join(logs, file), 'utf8')).join('\n')

export const logOf = (replica: Replica): readonly LogLine[] =>
  rawLogOf(replica)
    .split('\n')
    .flatMap((line): readonly LogLine[] => {
      try {
        return [{ ...(JSON.parse(line) as Omit<LogLine, 'replica'>), replica: replica.logs }]
      } catch {
        return []
      }
    })

/** With the objects that a hub deploys into its Clusters, as an installation has them. */
export async function hostedWorld(): Promise<HostedWorld> {
  const { kinds, rest } = releaseManifests()
  const inside = inClusterObjects(
    settingsOf({ ...wholeValues, roles: ['hub'], clusterPrograms: { inClusters: { replicas: 1 } } }),
  )
  const world = await clusterWorld({
    hostsPrograms: true,
    addons: async () => addonsOf(VERSION, kinds, rest),
    inClusters: async () => inside,
  })
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-replicas-'))
  const replicas: Replica[] = []
  const { hub, admin } = world
  return Object.assign(Object.create(world) as ClusterWorld, {
    async replica(program: HostedProgram, ...options: readonly string[]) {
      const kubeconfig = join(folder, `${program}.kubeconfig`)
      const place = { name: 'hub', server: hub.url, ca: hub.ca }
      await provideIdentity(admin, place, hostedAccount(program), kubeconfig, systemClock)
      const logs = mkdtempSync(join(folder, `${program}-`))
      const own = openSync(join(logs, 'replica.log'), 'a')
      const args = ['run', '--roles', 'hosted', '--hosted', program, '--kubeconfig', kubeconfig, '--hosted-logs', logs]
      const child = spawn(process.execPath, [programFile('main'), ...args, ...options], {
        stdio: ['pipe', own, own],
        env: { PATH: process.env['PATH'], KUBENODE_UNTIL_STDIN_ENDS: '1' },
      })
      closeSync(own)
      const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()))
      const replica = { process: child, logs, ended }
      replicas.push(replica)
      return replica
    },
    async hosts(program: HostedProgram) {
      const { items } = await admin.list(leaseType, { namespace: hostedNamespace(program) })
      return new Map(
        items.map(({ metadata }) => [
          metadata.name ?? '',
          JSON.parse(metadata.annotations?.[ANNOTATIONS.hosts] ?? '[]') as readonly string[],
        ]),
      )
    },
    async close() {
      for (const { process: child } of replicas) child.kill('SIGTERM')
      await Promise.all(replicas.map((r) => r.ended))
      await world.close()
      rmSync(folder, { recursive: true, force: true })
    },
  })
}
