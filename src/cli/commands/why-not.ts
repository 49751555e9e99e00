// `kubenode why-not node/X`: what blocks its repair and how to unblock it; `kubenode repair`: what a user may request.
import type { Command } from 'commander'
import type { KubeClient } from '#kube/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { nodeType } from '#nodes/objects.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownJson } from '#lib/printable.ts'
import { type EvenIfAbsent, withEvenIfAbsent } from '../inspect/even-if-absent.ts'
import { kindOf } from '../inspect/name-word.ts'
import type { Io } from '#lib/terminal/io.ts'
import { outputOption } from '../output.ts'
import type { Asked } from '../why-not/ask.ts'
import { type ServerOptions, connect, withServer } from './inspect.ts'
import { repairErrors } from '../why-not/repair-errors.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'

interface WhyNotOptions extends ServerOptions {
  readonly output: 'text' | 'json'
}

interface RepairOptions extends ServerOptions, EvenIfAbsent {
  readonly reason: string
  readonly for: string
  readonly unprotect?: boolean
}

export function register(program: Command, io: Io): void {
  withServer(program.command('why-not'))
    .description('show what blocks the repair of a node, and the command that lifts it')
    .argument('<node>', 'node/NAME, or machine/NAME for its node')
    .addOption(outputOption(['text', 'json']).default('text'))
    .action((what: string, options: WhyNotOptions) => whyNot(what, options, io))

  withEvenIfAbsent(withServer(program.command('repair')))
    .description(
      'repair a node from the first rung, even if its ladder is exhausted, the repair was aborted, or the node cools down',
    )
    .argument('<what>', 'node/NAME, machine/NAME or remedier/NAME')
    .requiredOption('--reason <why>', 'why, for the audit trail')
    .option('--for <duration>', 'how long the request is valid; expires automatically', '1h')
    .option('--unprotect', 'only lift its protection for this time')
    .action((what: string, options: RepairOptions) => repair(what, options, io))
}

async function whyNot(what: string, options: WhyNotOptions, io: Io): Promise<void> {
  const [noun = '', word = '', ...rest] = what.includes('/') ? what.split('/') : ['node', what]
  const kind = kindOf(noun)
  if ((kind !== 'Node' && kind !== 'Machine') || word === '' || rest.length > 0)
    throw new KubeNodeError(repairErrors.KN1353({ what: JSON.stringify(what) }))
  const [{ look }, { blockerLines, blockers }, { stoppedPrograms, stoppedStories }, { storyLines }] = await Promise.all(
    [
      import('#explain/repairs/look.ts'),
      import('#explain/repairs/blockers.ts'),
      import('#explain/running-programs.ts'),
      import('#explain/told.ts'),
    ],
  )
  const client = await connect(options, io)
  const name = kind === 'Node' ? word : await nodeOfMachine(client, word)
  const seen = await look(client, name, systemClock.now())
  if (seen === undefined) {
    const { absent, namesOf } = await import('../inspect/find-object.ts')
    throw absent('node', name, await namesOf(client, nodeType), nodeType.plural)
  }
  if (options.output === 'json') {
    io.out(shownJson(blockers(seen)))
    return
  }
  // What follows was read from statuses that such a program keeps current.
  const stopped = stoppedStories(await stoppedPrograms(client, [nodeType.kind]), systemClock.now())
  io.out(shownInWindow(io, [...stopped.flatMap((story) => [...storyLines(story), '']), ...blockerLines(seen)]))
}

/** A Machine and its Node are one host, and rules read the Node's conditions. */
async function nodeOfMachine(client: KubeClient, name: string): Promise<string> {
  const [{ findObject }, { machine }] = await Promise.all([
    import('../inspect/find-object.ts'),
    import('#api/kinds/machine.ts'),
  ])
  const node = (await findObject(client, machine, name)).status?.nodeRef?.name
  if (node === undefined) throw new KubeNodeError(repairErrors.KN1381({ name }))
  return node
}

async function repair(what: string, options: RepairOptions, io: Io): Promise<void> {
  const [{ askHold }, { findHeld }, { requestOutlook }, { placeHold }, { authorOf }] = await Promise.all([
    import('../why-not/ask.ts'),
    import('../inspect/find-object.ts'),
    import('#explain/repairs/look.ts'),
    import('../hold/placing.ts'),
    import('../who-am-i.ts'),
  ])
  const verb: Asked = options.unprotect === true ? 'unprotect' : 'repair'
  const wish = { verb, what, reason: options.reason, for: options.for }
  // A mistyped argument is reported before any request.
  const request = askHold({ ...wish, author: 'unknown' }, systemClock.now())
  const client = await connect(options, io)
  const mayBeAbsent = options.evenIfAbsent === true
  if (!mayBeAbsent) await findHeld(client, request.spec.target, what)
  if (verb === 'repair') {
    const outlook = await requestOutlook(client, request, systemClock.now())
    if (outlook.kind === 'Nothing' && !mayBeAbsent) throw new KubeNodeError(repairErrors.KN1354({ what }))
    if (outlook.kind === 'MassFault') {
      const { rule, why } = outlook
      throw new KubeNodeError(repairErrors.KN1732({ what, rule, why }))
    }
  }
  const author = await authorOf(client, io)
  const { metadata, spec } = await placeHold(client, askHold({ ...wish, author }, systemClock.now()))
  const done = verb === 'repair' ? `repair of ${what} requested` : `protection of ${what} lifted`
  const hold = `operationalhold/${metadata.name}`
  io.out(shownInWindow(io, [`${done} by ${spec.author}; valid until ${spec.until} (${hold})`]))
}
