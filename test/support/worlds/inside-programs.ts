// Controllers, approver and Defender in a Cluster without kubelets: the process runs while their Deployments want pods, as a node would run it, and the test
// says how many of them are available.
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HOSTED_PROGRAMS, type HostedProgram, programLeaseName, programUser, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { deploymentType } from '#install/observe.ts'
import type { HttpKubeClient } from '#kube/http/client.ts'
import { fieldAt } from '#lib/fields.ts'
import { systemClock } from '#lib/system-clock.ts'
import { freePort } from '../servers/free-port.ts'
import { programFile } from '../tools/own-build.ts'
import type { HostedWorld, Replica } from './hosted-world.ts'

export interface InsidePrograms {
  /** Runs, as far as it is known; its output is like that of a replica on the hub. */
  readonly replicas: readonly Replica[]
  deployments(): Promise<ReadonlyMap<HostedProgram, KubeObject>>
  /** Nodes that can run the pods come, or all are lost: then the processes are killed. */
  nodes(are: 'There' | 'Lost'): Promise<void>
  close(): Promise<void>
}

const LIFE_MS = 3_600_000
const POLL_MS = 100

interface Pod extends Replica {
  readonly port: number
}

export async function insidePrograms(world: HostedWorld, member: HttpKubeClient, id: string): Promise<InsidePrograms> {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-inside-'))
  const replicas: Replica[] = []
  const pods = new Map<HostedProgram, Pod>()
  let hasNodes = false
  const closed = new AbortController()

  async function deployments(): Promise<ReadonlyMap<HostedProgram, KubeObject>> {
    const found = await Promise.all(
      HOSTED_PROGRAMS.map(async (program) => {
        const key = { namespace: SYSTEM_NAMESPACE, name: programLeaseName(program) }
        const deployment = await member.get<KubeObject>(deploymentType, key)
        return deployment === undefined ? [] : [[program, deployment] as const]
      }),
    )
    return new Map(found.flat())
  }

  async function start(program: HostedProgram): Promise<Pod> {
    const logs = mkdtempSync(join(folder, `${program}-`))
    const file = join(logs, 'kubeconfig')
    const identity = { user: programUser(program), groups: [], lifeMs: LIFE_MS }
    writeFileSync(file, (await world.host.kubeconfig(id, identity)) ?? '', { mode: 0o600 })
    const port = await freePort()
    const log = openSync(join(logs, 'inside.log'), 'a')
    const args = ['run', '--roles', program, '--kubeconfig', `${program}=${file}`, '--metrics-port', String(port)]
    const child: ChildProcess = spawn(process.execPath, [programFile('main'), ...args], {
      stdio: ['pipe', log, log],
      env: { PATH: process.env['PATH'], KUBENODE_UNTIL_STDIN_ENDS: '1' },
    })
    closeSync(log)
    const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()))
    const pod = { process: child, logs, ended, port }
    replicas.push(pod)
    return pod
  }

  async function end(signal: 'SIGTERM' | 'SIGKILL', programs: readonly HostedProgram[]): Promise<void> {
    const ending = programs.flatMap((program) => pods.get(program) ?? [])
    for (const program of programs) pods.delete(program)
    for (const { process: child } of ending) child.kill(signal)
    await Promise.all(ending.map(({ ended }) => ended))
  }

  /** As a kubelet asks. */
  const isReady = (pod: Pod | undefined): Promise<boolean> =>
    pod === undefined
      ? Promise.resolve(false)
      : fetch(`http://127.0.0.1:${pod.port}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        )

  /** What a controller of Deployments and a kubelet do. */
  async function pass(): Promise<void> {
    const all = await deployments()
    const wants = (program: HostedProgram): boolean => Number(fieldAt(all.get(program), 'spec', 'replicas') ?? 0) > 0
    await end(
      'SIGTERM',
      HOSTED_PROGRAMS.filter((program) => !wants(program)),
    )
    if (hasNodes)
      for (const program of HOSTED_PROGRAMS)
        if (wants(program) && !pods.has(program)) pods.set(program, await start(program))
    for (const [program, deployment] of all) {
      const wanted = Number(fieldAt(deployment, 'spec', 'replicas') ?? 1)
      const ready = (await isReady(pods.get(program))) ? wanted : 0
      const observedGeneration = deployment.metadata.generation ?? 0
      const [before, seen] = ['availableReplicas', 'observedGeneration'].map((f) => fieldAt(deployment, 'status', f))
      if ((before ?? 0) === ready && seen === observedGeneration) continue
      const status = {
        observedGeneration,
        replicas: wanted,
        updatedReplicas: wanted,
        readyReplicas: ready,
        availableReplicas: ready,
      }
      const { name = '', namespace = '' } = deployment.metadata
      await member
        .patch(deploymentType, { name, namespace }, { type: 'merge', value: { status } }, { subresource: 'status' })
        .catch(() => undefined)
    }
  }

  const playing = (async () => {
    while (!closed.signal.aborted) {
      await pass().catch(() => undefined)
      await systemClock.sleep(POLL_MS)
    }
  })()

  return {
    replicas,
    deployments,
    async nodes(are) {
      hasNodes = are === 'There'
      if (!hasNodes) await end('SIGKILL', HOSTED_PROGRAMS)
    },
    async close() {
      closed.abort()
      await playing
      await end('SIGTERM', HOSTED_PROGRAMS)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
