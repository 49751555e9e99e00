// Shows the log of one component on one machine: finds the machine and reads from its agent until the log or the user ends.
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { AGENT_COMPONENT } from '#agent/self/switch-file.ts'
import { findObject, findOne } from '#explain/objects/find-object.ts'
import { agentOf } from '#explain/agent.ts'
import { logErrors } from '#nodes/logs/log-errors.ts'
import { readLog } from '#nodes/logs/read-log.ts'
import { shownLine, shownLines } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { untilEnded } from '#runtime/until-ended.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import { type Named, named } from '../../fleet/target.ts'
import { authorOf } from '../../current-person.ts'
import { logsErrors } from '../../follow/log-errors.ts'

export interface LogsOptions extends ServerOptions {
  readonly follow?: boolean
  readonly since?: string
  readonly tail?: string
  readonly container?: string
}

const MOST_LINES = 100_000
/** A kind without a name is an incomplete argument, not a machine's name. */
const KIND = /^(km|machines?|no|nodes?)$/
/** Names people use for KubeNode's own programs; no machine is called that. */
const PROGRAM = /^((deploy(ment)?\/)?kubenode-)?(sync|controllers?|defender|approvers?|artifacts|console|apiserver)$/
const LONGEST_SINCE_MS = 30 * 86_400_000

function oneOf(argument: string | undefined, option: string | undefined): string | undefined {
  if (argument !== undefined && option !== undefined && argument !== option)
    throw new KubeNodeError(logsErrors.KN1002_twoComponents({ first: argument, second: option }))
  return argument ?? option
}

export async function showLogs(
  what: string,
  component: string | undefined,
  options: LogsOptions,
  io: Io,
): Promise<void> {
  const name = oneOf(component, options.container)
  const tail = options.tail === undefined ? undefined : countOf(options.tail)
  const sinceSeconds = options.since === undefined ? undefined : secondsOf(options.since)
  if (PROGRAM.test(what)) throw new KubeNodeError(logsErrors.KN1325_logs({ what }))
  const wanted = named([what.includes('/') || KIND.test(what) ? what : `machine/${what}`])
  if (wanted.type.kind !== 'Machine' && wanted.type.kind !== 'Node')
    throw new KubeNodeError(logsErrors.KN1325_logs({ what }))
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
    await readLog({
      client,
      clock: systemClock,
      reader: { lines: (lines) => io.out(shownLines(lines)), note: (text) => io.err(shownLine(text)) },
      machine,
      agentKey,
      by,
      component: found,
      ...defined({ tail, sinceSeconds }),
      follow: options.follow === true,
      signal: io.signal === undefined ? ended.signal : AbortSignal.any([ended.signal, io.signal]),
      onAnswer,
    })
  } catch (error) {
    // The user ended it: ignore the error of the pending request.
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
  new KubeNodeError(logsErrors.KN1002_log({ option, value: JSON.stringify(value), wanted }))

/** A Node has its Machine's name, unless it was imported under another one. */
async function machineOf(client: KubeClient, { type, name, noun }: Named): Promise<Machine> {
  if (type.kind === 'Machine') return findObject(client, machineType, name, noun)
  const same = await findOne(client, machineType, name)
  if (same?.status?.nodeRef?.name === name) return same
  const found = (await listAll(client, machineType)).find((m) => m.status?.nodeRef?.name === name)
  if (found !== undefined) return found
  await findObject(client, type, name, noun)
  throw new KubeNodeError(logErrors.KN1642({ machine: name, why: 'no Machine is for this Node' }))
}

function componentOf({ metadata, spec, status }: Machine, name: string | undefined): string {
  if (name === undefined || name === AGENT_COMPONENT) return AGENT_COMPONENT
  const { name: machine = '' } = metadata
  const declared = spec.components ?? []
  const known = [...new Set([...declared, ...(status?.components ?? [])].map((c) => c.name))].toSorted()
  const refused = (why: string) =>
    new KubeNodeError(
      logsErrors.KN1313_component({ component: name, machine, why, known: known.join(', ') || 'it has none' }),
    )
  if (!known.includes(name)) {
    const near = didYouMean(name, known)
    throw refused(`it has no such component${near === undefined ? '' : `; did you mean ${near}?`}`)
  }
  if (declared.find((c) => c.name === name)?.workload === true) throw refused('it runs as pods; use kubectl logs')
  return name
}

/** Fails at once if the agent is away or never joined. */
function agentKeyOf(found: Machine): string {
  const agent = agentOf(found)
  if (agent.isThere) return agent.publicKey
  throw new KubeNodeError(logErrors.KN1642({ machine: found.metadata.name ?? '', why: agent.why }))
}
