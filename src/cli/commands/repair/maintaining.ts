// Plans maintenance of machines, ends it, and lists what is not finished.
import { machine } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { findObject } from '#explain/objects/find-object.ts'
import { listAll } from '#kube/list-all.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { counted } from '#lib/counted.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Io } from '#lib/terminal/io.ts'
import { alignedRows } from '#lib/terminal/rows.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'
import { isOver, plannerOf } from '#nodes/faults/maintenance.ts'
import {
  endText,
  isDrainedNow,
  machinesIn,
  phaseText,
  placesOf,
  plannedEvent,
  reasonOf,
  withVerb,
  recordOnce,
  spanOf,
  spanText,
} from '#nodes/faults/planned.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import { kindOf } from '../../fleet/name-word.ts'
import { authorOf } from '../../current-person.ts'

/** Finished plans for the same machine and time. */
const MOST_AGAIN = 100

export interface PlanOptions extends ServerOptions {
  readonly from?: string
  readonly until: string
  readonly reason: string
}

export async function plan(words: readonly string[], options: PlanOptions, io: Io): Promise<void> {
  // Report bad words before any request.
  const places = placesOf(words, kindOf)
  const reason = reasonOf(options.reason)
  const span = spanOf(options, systemClock.now())
  const client = await connect(options, io)
  for (const { kind, name } of places) if (kind === 'machine') await findObject(client, machine, name)
  const found = machinesIn(places, await listAll(client, machine))
  const open = (await listAll(client, maintenanceEvent)).filter((e) => !isOver(e))
  const by = await authorOf(client, io)
  for (const target of found) {
    // A canceled or finished plan stays for a month and no longer has any effect.
    for (let again = 0; again < MOST_AGAIN; again++) {
      const event = plannedEvent(target, span, { reason, by }, again)
      const name = event.metadata?.name ?? ''
      const made = await outcomeOf(() =>
        client.create(maintenanceEvent, event as never, { fieldManager: 'kubenode-cli' }),
      )
      if (made.kind !== 'Applied' && made.kind !== 'Exists') throw made.error
      const known = made.kind === 'Exists' ? await client.get(maintenanceEvent, { name }) : undefined
      if (known !== undefined && (isOver(known) || withVerb(known, 'done', by) === undefined)) continue
      const of = target.metadata.name ?? ''
      io.out(shownInWindow(io, [`maintenanceevent/${name} for machine/${of}, ${spanText(span)}`]))
      if (target.spec.channel === 'Observe')
        io.err(`machine/${of} is only observed: KubeNode does not drain its node; drain it with kubectl drain\n`)
      const others = open.filter((e) => e.spec.machine === of && e.metadata.name !== name).map((e) => e.metadata.name)
      if (others.length > 0)
        io.err(`machine/${of} has other work, which must be ended by itself: ${others.join(', ')}\n`)
      break
    }
  }
  io.err(
    `${counted(found.length, 'machine', 'machines')}: drained ${isDrainedNow(span, systemClock.now()) ? 'now' : 'in time'} under permits; repairs stand off. Begin when kubenode maintenance list says InProgress; when the work is over, run kubenode maintenance done NAME\n`,
  )
}

export async function record(
  verb: 'done' | 'cancel',
  names: readonly string[],
  options: ServerOptions,
  io: Io,
): Promise<void> {
  const client = await connect(options, io)
  const found = await Promise.all([...new Set(names)].map((name) => findObject(client, maintenanceEvent, name)))
  const by = await authorOf(client, io)
  // Report what cannot be ended before ending anything.
  for (const event of found) withVerb(event, verb, by)
  for (const event of found) {
    const isNew = await recordOnce(client, event, (now) => withVerb(now, verb, by))
    const text = isNew ? endText(event, verb) : 'was ended before'
    io.out(shownInWindow(io, [`maintenanceevent/${event.metadata.name ?? ''} ${text}`]))
  }
}

export async function list(options: ServerOptions, io: Io): Promise<void> {
  const client = await connect(options, io)
  const open = (await listAll(client, maintenanceEvent)).filter((e) => !isOver(e))
  if (open.length === 0) {
    io.err('no work on hosts is planned or under way\n')
    return
  }
  const rows = open
    .toSorted((a, b) => ((a.spec.notBefore ?? '') < (b.spec.notBefore ?? '') ? -1 : 1))
    .map((e) => [
      e.metadata.name ?? '',
      e.spec.machine,
      plannerOf(e.spec),
      e.spec.kind,
      phaseText(e),
      e.spec.notBefore ?? '-',
      e.spec.notAfter ?? '-',
    ])
  const head = ['NAME', 'MACHINE', 'BY', 'KIND', 'PHASE', 'NOT BEFORE', 'NOT AFTER']
  io.out(`${alignedRows([head, ...rows])}\n`)
}
