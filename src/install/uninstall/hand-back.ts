// Hands hosts back before the programs stop: existing hosts get their own files back, all others keep what runs, and every agent removes itself.
import { waitText } from '#explain/wait.ts'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import { ABANDONED_HOSTS, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { counted } from '#lib/counted.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { inParallel } from '#lib/pool.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { until, type InstallContext } from '../context.ts'
import { deploymentType, type Installed } from '../observe.ts'
import { someOf } from '#lib/some-of.ts'

const PARALLEL = 8
const MOST_NAMED = 10
const configMapType = coreKind('ConfigMap')

const named = (workloads: readonly KubeObject[], name: string): KubeObject | undefined =>
  workloads.find((w) => w.metadata.name === name)

const isAvailable = (workload: KubeObject | undefined): boolean =>
  isObject(workload?.['status']) && Number(workload['status']['availableReplicas'] ?? 0) > 0

/** It may still be on its host: an agent that left reports that. */
export const hasAgent = ({ status }: Machine): boolean => status?.agent !== undefined && status.agent.phase !== 'Left'

/** Returns the Machines whose agents have not left yet. */
export async function handBackHosts(context: InstallContext, { workloads }: Installed): Promise<readonly string[]> {
  const { client, print } = context
  const agents = (await listAll(client, machineType)).filter(hasAgent)
  if (agents.length === 0) return []
  if (!isAvailable(named(workloads, 'kubenode-controllers'))) {
    print(`the controllers do not run, so ${counted(agents.length, 'agent stays', 'agents stay')}`)
    return namesOf(agents)
  }
  // Otherwise sync recreates what is deleted here.
  if (named(workloads, 'kubenode-sync') !== undefined)
    await client.scale(deploymentType, { namespace: SYSTEM_NAMESPACE, name: 'kubenode-sync' }, 0, {
      fieldManager: FIELD_MANAGERS.install,
    })
  await inParallel(agents, PARALLEL, (m) => letGo(context, m))
  print(`handing back ${counted(agents.length, 'host')}`)
  try {
    await until(context, 'agents to leave their hosts', async () => {
      const left = (await listAll(client, machineType)).filter(hasAgent)
      const [first] = left
      return first === undefined
        ? { done: undefined }
        : { waitsFor: `${counted(left.length, 'agent')}, such as ${waitOf(first)}` }
    })
  } catch (error) {
    context.signal?.throwIfAborted()
    print(messageOf(error))
  }
  return namesOf((await listAll(client, machineType)).filter(hasAgent))
}

const namesOf = (machines: readonly Machine[]): readonly string[] => machines.map((m) => m.metadata.name ?? '')

const waitOf = ({ metadata, status }: Machine): string =>
  [metadata.name ?? '', ...(status?.waitingFor === undefined ? [] : [`(${waitText(status.waitingFor)})`])].join(' ')

/** A provider would delete a host it created: that Machine becomes observed, with its components in place. */
async function letGo({ client }: InstallContext, machine: Machine): Promise<void> {
  const { name = '', ownerReferences = [], deletionTimestamp } = machine.metadata
  if (deletionTimestamp !== undefined) return
  if (machine.spec.provider?.name === 'static' && ownerReferences.length === 0) {
    await deleteExactly(client, machineType, machine)
    return
  }
  const value = { spec: { channel: 'Observe' } }
  await client.patch(machineType, { name }, { type: 'merge', value }, { fieldManager: FIELD_MANAGERS.install })
}

/** Hosts that were abandoned, now or earlier. */
export async function abandonedLines({ client }: InstallContext): Promise<readonly string[]> {
  const list = await client.get(configMapType, { namespace: SYSTEM_NAMESPACE, name: ABANDONED_HOSTS })
  const names = Object.keys(list?.data ?? {}).toSorted()
  if (names.length === 0) return []
  return [
    `${counted(names.length, 'abandoned host')}, which did not answer: ${someOf(names, MOST_NAMED)}; run kubenode agent leave there`,
  ]
}
