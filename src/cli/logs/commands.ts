// `kubenode logs`: the log of one component on one machine, or of the agent itself.
import type { Command } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { AGENT_COMPONENT } from '#agent/self/switch-file.ts'
import { findCondition } from '#kube/conditions.ts'
import type { KubeClient } from '#kube/client.ts'
import { type ServerOptions, connect, withServer } from '../commands/inspect.ts'
import { Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { Named } from '../inspect/target.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { logsErrors } from './logs-errors.ts'

interface LogsOptions extends ServerOptions {
  readonly follow?: boolean
  readonly since?: string
  readonly tail?: string
  readonly container?: string
}

const MOST_LINES = 100_000
/** A kind without a name is half of what is needed, not the name of a machine. */
const KIND = /^(km|machines?|no|nodes?)$/
/** Programs of KubeNode, as people call them: no machine has such a name. */
const PROGRAM = /^((deploy(ment)?\/)?kubenode-)?(sync|controllers?|defender|approvers?|artifacts|console|apiserver)$/
const LONGEST_SINCE_MS = 30 * 86_400_000

export function register(program: Command, io: Io): void {
  withServer(program.command('logs'))
    .description('show the log of a component on a machine, read by its agent; secrets are masked')
    .argument('<machine>', 'machine/NAME, node/NAME, or the NAME of a machine')
    .argument('[component]', 'the component; the agent itself when left out')
    .option('-c, --container <component>', 'the component, as kubectl names it; as the argument')
    .option('-f, --follow', 'show new lines until Ctrl-C, for ten minutes at most')
    .option('--since <duration>', 'lines of the last time only, such as 10m')
    .option('--tail <count>', 'the last lines of this number; all up to 256 KiB when left out')
    .action((what: string, component: string | undefined, options: LogsOptions) => logs(what, component, options, io))
}

function oneOf(argument: string | undefined, option: string | undefined): string | undefined {
  if (argument !== undefined && option !== undefined && argument !== option)
    throw new KubeNodeError(logsErrors.KN1648({ first: argument, second: option }))
  return argument ?? option
}

async function logs(what: string, component: string | undefined, options: LogsOptions, io: Io): Promise<void> {
  const name = oneOf(component, options.container)
  const tail = options.tail === undefined ? undefined : countOf(options.tail)
  const sinceSeconds = options.since === undefined ? undefined : secondsOf(options.since)
  const [{ named }, { showLog }, { authorOf }, { untilEnded }] = await Promise.all([
    import('../inspect/target.ts'),
    import('./ask-log.ts'),
    import('../who-am-i.ts'),
    import('#runtime/until-ended.ts'),
  ])
  if (PROGRAM.test(what)) throw new KubeNodeError(logsErrors.KN1640({ what }))
  const wanted = named([what.includes('/') || KIND.test(what) ? what : `machine/${what}`])
  if (wanted.type.kind !== 'Machine' && wanted.type.kind !== 'Node')
    throw new KubeNodeError(logsErrors.KN1640({ what }))
  const client = await connect(options, io)
  const machine = await machineOf(client, wanted)
  const found = componentOf(machine, name)
  const agentKey = agentKeyOf(machine)
  const by = await authorOf(client, io)
  const ended = untilEnded()
  const answered = Promise.withResolvers<undefined>()
  const progress = withProgress(io, `asking the agent of machine ${wanted.name}`, answered.promise)
  const onAnswer = async (): Promise<void> => {
    answered.resolve(undefined)
    await progress
  }
  try {
    await showLog({
      client,
      clock: systemClock,
      io,
      machine,
      agentKey,
      by,
      component: found,
      ...(tail !== undefined && { tail }),
      ...(sinceSeconds !== undefined && { sinceSeconds }),
      follow: options.follow === true,
      signal: io.signal === undefined ? ended.signal : AbortSignal.any([ended.signal, io.signal]),
      onAnswer,
    })
  } catch (error) {
    // Ending on request is no error, whatever the request in progress answered.
    if (!ended.signal.aborted && io.signal?.aborted !== true) throw error
  } finally {
    await onAnswer()
    ended.dispose()
  }
  if (ended.signal.aborted) throw new Exit(ended.exitCode())
}

function countOf(text: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (!(count <= MOST_LINES)) throw wrongValue('--tail', text, `a number from 0 to ${MOST_LINES}`)
  return count
}

function secondsOf(text: string): number {
  const ms = durationMs(text)
  if (ms === undefined || ms < 1_000 || ms > LONGEST_SINCE_MS)
    throw wrongValue('--since', text, 'a time from 1s to 30d')
  return Math.ceil(ms / 1_000)
}

const wrongValue = (option: string, value: string, wanted: string): KubeNodeError =>
  new KubeNodeError(logsErrors.KN1646({ option, value: JSON.stringify(value), wanted }))

/** A Node has the name of its Machine, unless it was imported under another. */
async function machineOf(client: KubeClient, { type, name, noun }: Named): Promise<Machine> {
  const [{ machine }, { findObject, lookUp }, { listAll }] = await Promise.all([
    import('#api/kinds/machine.ts'),
    import('../inspect/find-object.ts'),
    import('#kube/list-all.ts'),
  ])
  if (type.kind === 'Machine') return findObject(client, machine, name, noun)
  const same = await lookUp(client, machine, name)
  if (same?.status?.nodeRef?.name === name) return same
  const found = (await listAll(client, machine)).find((m) => m.status?.nodeRef?.name === name)
  if (found !== undefined) return found
  await findObject(client, type, name, noun)
  throw new KubeNodeError(logsErrors.KN1642({ machine: name, why: 'no Machine is for this Node' }))
}

function componentOf({ metadata, spec, status }: Machine, name: string | undefined): string {
  if (name === undefined || name === AGENT_COMPONENT) return AGENT_COMPONENT
  const { name: machine = '' } = metadata
  const declared = spec.components ?? []
  const known = [...new Set([...declared, ...(status?.components ?? [])].map((c) => c.name))].toSorted()
  const refused = (why: string) =>
    new KubeNodeError(logsErrors.KN1641({ component: name, machine, why, known: known.join(', ') || 'it has none' }))
  if (!known.includes(name)) {
    const near = didYouMean(name, known)
    throw refused(`it has no such component${near === undefined ? '' : `; did you mean ${near}?`}`)
  }
  if (declared.find((c) => c.name === name)?.workload === true) throw refused('it runs as pods; use kubectl logs')
  return name
}

/** An agent that is away, or that never came, is said so at once. */
function agentKeyOf({ metadata, spec, status }: Machine): string {
  const { name: machine = '' } = metadata
  const refused = (why: string) => new KubeNodeError(logsErrors.KN1642({ machine, why }))
  const { publicKey, phase } = status?.agent ?? {}
  const reachable = findCondition(status?.conditions, 'AgentReachable')
  if (publicKey === undefined)
    throw refused(spec.channel === 'Observe' ? 'it is only observed and has no agent' : 'no agent has joined yet')
  if (phase !== undefined) throw refused('its agent is leaving the host')
  if (reachable?.status === 'False') throw refused(`no heartbeat from its agent since ${reachable.lastTransitionTime}`)
  return publicKey
}
