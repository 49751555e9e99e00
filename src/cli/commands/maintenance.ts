// `kubenode maintenance plan | done | cancel | list`: work on machines that people plan, with the permits, drains and quiet of what a provider announces.
import type { Command } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import { counted } from '#lib/counted.ts'
import { namesOfKind } from '../inspect/name-word.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type ServerOptions, connect, withServer } from './inspect.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'

/** Plans of the same machine and time that are over. */
const MOST_AGAIN = 100

interface PlanOptions extends ServerOptions {
  readonly from?: string
  readonly until: string
  readonly reason: string
}

export function register(program: Command, io: Io): void {
  const group = program.command('maintenance').description('plan work on machines, end it, list what is planned')
  withServer(
    group
      .command('plan')
      .description('drain machines in time for work on them, and let no repair disturb it')
      .argument('<what...>', 'machine/NAME or node/NAME, several; or rack/NAME, zone/NAME')
      .option('--from <time>', 'when the work begins; as soon as the node is drained when left out')
      .requiredOption('--until <time>', 'when it is over, as a time or a duration after --from')
      .requiredOption('--reason <why>', 'why, shown to everyone who meets the drained nodes'),
  ).action((words: string[], options: PlanOptions) => plan(words, options, io))
  for (const verb of ['done', 'cancel'] as const)
    withServer(
      group
        .command(verb)
        .description(verb === 'done' ? 'end planned work' : 'call planned work off before it begins')
        .argument(
          '<name...>',
          'names of the events, as kubenode maintenance list shows them',
          namesOfKind('maintenanceevent'),
        ),
    ).action((names: string[], options: ServerOptions) => say(verb, names, options, io))
  withServer(
    group.command('list').description('list work on hosts that is not over, of people and of providers'),
  ).action((options: ServerOptions) => list(options, io))
}

async function plan(words: readonly string[], options: PlanOptions, io: Io): Promise<void> {
  const [
    { placesOf, reasonOf, spanOf, spanText, isDrainedNow, machinesIn, plannedEvent, saidOf },
    { maintenanceEvent },
    { machine },
    { listAll },
    { outcomeOf },
    { findObject },
    { isOver },
    { authorOf },
  ] = await Promise.all([
    import('../maintenance/planned.ts'),
    import('#api/kinds/maintenance-event.ts'),
    import('#api/kinds/machine.ts'),
    import('#kube/list-all.ts'),
    import('#kube/outcome.ts'),
    import('../inspect/find-object.ts'),
    import('#nodes/faults/maintenance.ts'),
    import('../who-am-i.ts'),
  ])
  // Mistyped words are reported before any request.
  const places = placesOf(words)
  const reason = reasonOf(options.reason)
  const span = spanOf(options, systemClock.now())
  const client = await connect(options, io)
  for (const { kind, name } of places) if (kind === 'machine') await findObject(client, machine, name)
  const found = machinesIn(places, await listAll(client, machine))
  const open = (await listAll(client, maintenanceEvent)).filter((e) => !isOver(e))
  const by = await authorOf(client, io)
  for (const target of found) {
    // What was called off or is done stays for a month, and plans nothing any longer.
    for (let again = 0; again < MOST_AGAIN; again++) {
      const event = plannedEvent(target, span, { reason, by }, again)
      const name = event.metadata?.name ?? ''
      const made = await outcomeOf(() =>
        client.create(maintenanceEvent, event as never, { fieldManager: 'kubenode-cli' }),
      )
      if (made.kind !== 'Applied' && made.kind !== 'Exists') throw made.error
      const known = made.kind === 'Exists' ? await client.get(maintenanceEvent, { name }) : undefined
      if (known !== undefined && (isOver(known) || saidOf(known, 'done', by) === undefined)) continue
      const of = target.metadata.name ?? ''
      io.out(shownInWindow(io, [`maintenanceevent/${name} for machine/${of}, ${spanText(span)}`]))
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

async function say(verb: 'done' | 'cancel', names: readonly string[], options: ServerOptions, io: Io): Promise<void> {
  const [{ endText, saidOf, sayOnce }, { maintenanceEvent }, { findObject }, { authorOf }] = await Promise.all([
    import('../maintenance/planned.ts'),
    import('#api/kinds/maintenance-event.ts'),
    import('../inspect/find-object.ts'),
    import('../who-am-i.ts'),
  ])
  const client = await connect(options, io)
  const found = await Promise.all([...new Set(names)].map((name) => findObject(client, maintenanceEvent, name)))
  const by = await authorOf(client, io)
  // What cannot be ended is reported before anything is.
  for (const event of found) saidOf(event, verb, by)
  for (const event of found) {
    const isNew = await sayOnce(client, event, (now) => saidOf(now, verb, by))
    const text = isNew ? endText(event, verb) : 'was ended before'
    io.out(shownInWindow(io, [`maintenanceevent/${event.metadata.name ?? ''} ${text}`]))
  }
}

async function list(options: ServerOptions, io: Io): Promise<void> {
  const [{ maintenanceEvent }, { isOver, plannerOf }, { phaseText }, { listAll }, { alignedRows }] = await Promise.all([
    import('#api/kinds/maintenance-event.ts'),
    import('#nodes/faults/maintenance.ts'),
    import('../maintenance/planned.ts'),
    import('#kube/list-all.ts'),
    import('../get/rows.ts'),
  ])
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
