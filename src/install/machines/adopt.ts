// `kubenode adopt NODE`: what adopting a node's unmanaged files would do, as reported by its agent, and the consent to it.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { listAll } from '#kube/list-all.ts'
import type { KubeClient } from '#kube/client.ts'
import { nodeType } from '#nodes/objects.ts'
import { toManage } from '#agent/join/join-command.ts'
import { machinesErrors } from '#agent/join/machines-errors.ts'
import { findObject, findOne } from '#explain/objects/find-object.ts'
import type { Io } from '#lib/terminal/io.ts'

export interface AdoptRequest {
  readonly client: KubeClient
  /** A Node or its Machine. */
  readonly name: string
  readonly dryRun?: boolean
}

type Reported = NonNullable<NonNullable<Machine['status']>['components']>[number]

export async function adopt(
  { client, name, dryRun = false }: AdoptRequest,
  io: Pick<Io, 'out' | 'err'>,
): Promise<void> {
  const machine = await machineOf(client, name)
  const cannot = cannotAdopt(machine)
  if (cannot !== undefined) throw new KubeNodeError(machinesErrors.KN1377({ name, why: cannot }))
  for (const line of adoptionLines(machine)) io.out(shownLine(line))
  if (dryRun) return
  const now = machine.spec.adoption
  const own = machine.metadata.name ?? ''
  if (now === 'Adopt') return io.err(shownLine(`machine/${own} is adopted already`))
  if (machine.metadata.annotations?.[ANNOTATIONS.commit] !== undefined) {
    io.err(shownLine(`machine/${own} is declared in git; commit this change there:`))
    io.out(
      `---\napiVersion: kubenode.io/v1alpha1\nkind: Machine\nmetadata:\n  name: ${own}\nspec:\n  adoption: Adopt\n`,
    )
    return
  }
  const { uid } = machine.metadata
  const value = { metadata: defined({ uid }), spec: { adoption: 'Adopt' } }
  await client.patch(machineType, { name: own }, { type: 'merge', value }, { fieldManager: FIELD_MANAGERS.cli })
  io.out(shownLine(`machine/${own} adopts; its sets switch it like any other machine`))
}

async function machineOf(client: KubeClient, name: string): Promise<Machine> {
  const machines = await listAll(client, machineType)
  const found = machines.find((m) => m.status?.nodeRef?.name === name) ?? machines.find((m) => m.metadata.name === name)
  if (found !== undefined) return found
  if ((await findOne(client, nodeType, name)) !== undefined)
    throw new KubeNodeError(
      machinesErrors.KN1377({ name, why: `no Machine observes this Node; run: kubenode import ${name}` }),
    )
  return findObject(client, machineType, name, 'machine')
}

function cannotAdopt({ metadata, spec, status }: Machine): string | undefined {
  const name = metadata.name ?? ''
  if (metadata.deletionTimestamp !== undefined)
    return `it is being deleted; once that has ended, run: kubenode import ${status?.nodeRef?.name ?? name}`
  if (spec.channel !== 'Agent')
    return `its channel is ${spec.channel}; ${toManage(name)}, then run: kubenode machine join-command ${name}`
  if (status?.agent === undefined || status.agent.phase !== undefined)
    return `it has no agent; print the command for its host with: kubenode machine join-command ${name}`
  return undefined
}

/** One line per path, then the effect on each component. */
function adoptionLines(machine: Machine): readonly string[] {
  const components = (machine.status?.components ?? []).filter((c) => c.adoption !== undefined)
  const head = `machine/${machine.metadata.name ?? ''}: adoption ${machine.spec.adoption ?? 'Refuse'}`
  if (components.length === 0)
    return [head, 'no component has files of others in its way; nothing to adopt, or nothing staged yet']
  return [head, ...table(components.flatMap(rowsOf)), ...components.map(endOf)]
}

type Row = readonly [component: string, path: string, now: string, after: string]

function rowsOf({ name, adoption }: Reported): readonly Row[] {
  const {
    equal = [],
    differs = [],
    replaced = [],
    stays = [],
    alsoStarted = [],
    blocked = [],
    kept = [],
  } = adoption ?? {}
  const units = kept.filter((k) => !k.startsWith('/'))
  return [
    ...equal.map((path): Row => [name, path, 'equal', 'original kept, content unchanged']),
    ...replaced.map((path): Row => {
      const now = differs.find((d) => d.startsWith(`${path} (`))?.slice(path.length + 2, -1)
      return [name, path, now ?? 'differs', 'original kept, then replaced']
    }),
    ...units.map((unit): Row => [name, unit, 'unit', 'state kept']),
    ...stays.map((path): Row => [name, path, path.endsWith('.conf') ? 'drop-in' : 'unit', 'stays in force']),
    ...alsoStarted.map((unit): Row => [name, unit, 'same program', 'runs beside it: stop and disable it first']),
    ...blocked.map((path): Row => [name, path, 'in the way', 'cannot be adopted']),
  ]
}

function table(rows: readonly Row[]): readonly string[] {
  const all: readonly Row[] = [['COMPONENT', 'PATH', 'NOW', 'ADOPTED'], ...rows]
  const widths = [0, 1, 2].map((n) => Math.max(...all.map((r) => (r[n] ?? '').length)))
  return all.map((r) => r.map((cell, n) => (n === 3 ? cell : cell.padEnd(widths[n] ?? 0))).join('   '))
}

const endOf = ({ name, version, adoption }: Reported): string =>
  version === undefined
    ? `${name}: ${adoption?.restarts === true ? 'restarts in an ordinary switch' : 'is not restarted'}`
    : `${name}: ${version} is managed; its originals are kept`
