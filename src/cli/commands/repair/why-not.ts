// `kubenode why-not node/X`: what blocks its repair and how to unblock it. `kubenode repair`: requests a repair.
import type { Command } from 'commander'
import type { KubeClient } from '#kube/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { nodeType } from '#nodes/objects.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownJson } from '#lib/printable.ts'
import { withEvenIfAbsent } from '../../fleet/even-if-absent.ts'
import { kindOf } from '../../fleet/name-word.ts'
import type { Io } from '#lib/terminal/io.ts'
import { outputOption } from '../../output.ts'
import type { RepairOptions } from './repairing.ts'
import { type ServerOptions, connect, withServer } from '../../fleet/connect.ts'
import { repairErrors } from './repair-errors.ts'
import { type AtOptions, type HistoryOptions, withAt } from '../../fleet/history-options.ts'
import type { PastAnswer } from '../../fleet/past.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'

interface WhyNotOptions extends ServerOptions, HistoryOptions {
  readonly at?: string
  readonly output: 'text' | 'json'
}

export function register(program: Command, io: Io): void {
  withAt(withServer(program.command('why-not')))
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
    .action(async (what: string, options: RepairOptions) => (await import('./repairing.ts')).repair(what, options, io))
}

/** What blocked the repair of a node at that time: its rules, limits and holds. */
async function whyNotAt(what: string, options: WhyNotOptions & AtOptions, io: Io): Promise<void> {
  const [{ answerAt, inThePast }, { observeRepairs }, { blockerLines, blockers }] = await Promise.all([
    import('../../fleet/past.ts'),
    import('#explain/repairs/observe.ts'),
    import('#explain/repairs/blockers.ts'),
  ])
  await inThePast([what.includes('/') ? what : `node/${what}`], options, io, async (found) => {
    const answers: PastAnswer[] = []
    for (const one of found) {
      const { client, object, at } = one
      const name =
        object.kind === 'Node' ? (object.metadata.name ?? '') : await nodeOfMachine(client, object.metadata.name ?? '')
      const seen = await observeRepairs(client, name, at)
      if (seen === undefined) continue
      if (options.output === 'json') answers.push(answerAt(one, blockers(seen)))
      else io.out(shownInWindow(io, blockerLines(seen)))
    }
    if (options.output === 'json') io.out(shownJson(answers))
  })
}

async function whyNot(what: string, options: WhyNotOptions, io: Io): Promise<void> {
  if (options.at !== undefined) return whyNotAt(what, { ...options, at: options.at }, io)
  const [noun = '', word = '', ...rest] = what.includes('/') ? what.split('/') : ['node', what]
  const kind = kindOf(noun)
  if ((kind !== 'Node' && kind !== 'Machine') || word === '' || rest.length > 0)
    throw new KubeNodeError(repairErrors.KN1325_whyNot({ what: JSON.stringify(what) }))
  const [{ observeRepairs: look }, { blockerLines, blockers }, { stoppedPrograms, stoppedStories }, { storyLines }] =
    await Promise.all([
      import('#explain/repairs/observe.ts'),
      import('#explain/repairs/blockers.ts'),
      import('#explain/running-programs.ts'),
      import('#explain/finding.ts'),
    ])
  const client = await connect(options, io)
  const name = kind === 'Node' ? word : await nodeOfMachine(client, word)
  const seen = await look(client, name, systemClock.now())
  if (seen === undefined) {
    const { absent, namesOf } = await import('#explain/objects/find-object.ts')
    throw absent({ client, noun: 'node', name, known: await namesOf(client, nodeType), plural: nodeType.plural })
  }
  if (options.output === 'json') {
    io.out(shownJson(blockers(seen)))
    return
  }
  // The answer below comes from statuses that these programs keep current.
  const stopped = stoppedStories(await stoppedPrograms(client, [nodeType.kind]), systemClock.now())
  io.out(shownInWindow(io, [...stopped.flatMap((story) => [...storyLines(story), '']), ...blockerLines(seen)]))
}

/** A Machine and its Node are one host, and rules read the Node's conditions. */
async function nodeOfMachine(client: KubeClient, name: string): Promise<string> {
  const [{ findObject }, { machine }] = await Promise.all([
    import('#explain/objects/find-object.ts'),
    import('#api/kinds/machine.ts'),
  ])
  const node = (await findObject(client, machine, name)).status?.nodeRef?.name
  if (node === undefined) throw new KubeNodeError(repairErrors.KN1381({ name }))
  return node
}
