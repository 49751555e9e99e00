// `kubenode join --ssh`: makes a Machine for each host of a file, and follows them. The controllers do the joining, so this command can be interrupted and
// repeated at any point: it finds the Machines that it made and continues with the rest.
import { resolve } from 'node:path'
import { machinesErrors } from '#agent/join/machines-errors.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS, FIELD_MANAGERS, LABELS, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { isAlreadyExists, isForbidden } from '#kube/errors.ts'
import { listAll } from '#kube/list-all.ts'
import { readBoundedText, STANDARD_INPUT } from '#lib/bounded-file.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { inParallel } from '#lib/pool.ts'
import { shownJson, shownLine } from '#lib/printable.ts'
import { systemClock } from '#lib/system-clock.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import { countLine } from '#lib/terminal/amount.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { secretType } from '#nodes/objects.ts'
import { untilEnded } from '#runtime/until-ended.ts'
import { type HostDefaults, type HostStep, addressOf, planHosts } from './host-machines.ts'
import { type RowProblem, hostRows } from './hosts-csv.ts'
import { type Followed, followHosts } from './follow-hosts.ts'
import { type HostProgress, countOf, failedRequests, outcomeText } from './join-states.ts'
import { type Patience, throughOutage } from './through-outage.ts'

export interface JoinHostsAsked {
  readonly ssh?: string
  readonly secret?: string
  readonly user?: string
  readonly pool?: string
  readonly hostCa?: string
  readonly acceptNewKeys?: boolean
  readonly retryFailed?: boolean
  readonly dryRun?: boolean
  readonly wait?: boolean
  readonly timeout?: string
  readonly output?: string
}

const CREATED_AT_ONCE = 8

const wrongFile = (file: string, why: string, cause?: unknown): Error =>
  new KubeNodeError(machinesErrors.KN1002_hosts({ file, why }), { cause })

function fileText(file: string, cwd: string): string {
  try {
    return readBoundedText(file === '-' ? STANDARD_INPUT : resolve(cwd, file))
  } catch (cause) {
    throw wrongFile(file, systemTrouble(cause), cause)
  }
}

/** Mistakes in the file and the options are reported before any change. */
export async function joinOverSsh(asked: JoinHostsAsked, io: Io, reach: () => Promise<KubeClient>): Promise<void> {
  const timeoutMs = asked.timeout === undefined ? undefined : parseDuration(asked.timeout)
  if (asked.ssh === undefined) throw new KubeNodeError(machinesErrors.KN1002_noHosts())
  const { ssh: file, dryRun = false, output } = asked
  const { rows, problems } = hostRows(fileText(file, io.cwd))
  if (problems.length > 0) refuse(file, problems, io)
  const hostCA = asked.hostCa === undefined ? undefined : fileText(asked.hostCa, io.cwd).trim()
  const defaults: HostDefaults = {
    ...defined({ secret: asked.secret, user: asked.user, pool: asked.pool, hostCA }),
    acceptsNewKeys: asked.acceptNewKeys === true,
  }
  const form = planHosts(rows, defaults, [])
  if (form.problems.length > 0) refuse(file, form.problems, io)
  const client = await reach()
  const ended = untilEnded()
  const patience: Patience = { clock: systemClock, io, signal: ended.signal }
  let isChanging = false
  try {
    const known = await throughOutage(() => listAll(client, machineType, { signal: ended.signal }), patience)
    const plan = planHosts(rows, defaults, known)
    if (plan.problems.length > 0) refuse(file, plan.problems, io)
    await checkSecrets(client, plan.steps, io)
    if (dryRun) return showPlan(plan.steps, output, io)
    isChanging = true
    await create(client, plan.steps, ended.signal, io)
    const retried = asked.retryFailed === true ? await retryFailed(client, plan.steps, io) : new Map<string, string>()
    if (asked.wait === false) {
      io.err(shownLine('the controllers join them; the same command shows their progress'))
      return
    }
    const names = plan.steps.map(({ name }) => name)
    const result = await followHosts({
      client,
      names,
      retried,
      io,
      signal: ended.signal,
      isJson: output === 'json',
      ...defined({ timeoutMs }),
    })
    finish(plan.steps, result, { output, timeoutMs }, io)
  } catch (error) {
    if (!ended.signal.aborted) throw error
    showProblem(
      io,
      shownLine(
        isChanging
          ? 'ended; the controllers continue to join these hosts; the same command shows their progress again'
          : 'ended; nothing was changed',
      ),
    )
    throw new Exit(ended.exitCode())
  } finally {
    ended.dispose()
  }
}

/** More do not help. */
const PROBLEMS_SHOWN = 50

function refuse(file: string, problems: readonly RowProblem[], io: Io): never {
  const sorted = problems.toSorted((a, b) => a.line - b.line)
  for (const { line, text } of sorted.slice(0, PROBLEMS_SHOWN)) showProblem(io, shownLine(`${file}:${line}: ${text}`))
  throw new KubeNodeError(machinesErrors.KN1387({ file, problems: counted(problems.length, 'problem') }))
}

/** The controllers check it again, with its limits; here a missing one would only be found host by host. */
async function checkSecrets(client: KubeClient, steps: readonly HostStep[], io: Io): Promise<void> {
  for (const name of new Set(steps.flatMap(({ machine }) => machine.spec.ssh?.secretRef.name ?? []))) {
    let labels: Readonly<Record<string, string>> | undefined
    try {
      const secret = await client.get(secretType, { namespace: SYSTEM_NAMESPACE, name })
      if (secret === undefined) throw new KubeNodeError(machinesErrors.KN1388({ name, why: 'it does not exist' }))
      labels = secret.metadata.labels
    } catch (error) {
      if (!isForbidden(error)) throw error
      io.err(
        shownLine(
          `Secret ${name} of ${SYSTEM_NAMESPACE} is not readable with your rights; its label is not checked here`,
        ),
      )
      continue
    }
    if (labels?.[LABELS.forSsh] !== 'true')
      throw new KubeNodeError(machinesErrors.KN1388({ name, why: `it is not labeled ${LABELS.forSsh}=true` }))
  }
}

const textFor = ({ kind, machine }: HostStep): string => {
  const { ssh } = machine.spec
  const to =
    ssh === undefined ? '' : `${ssh.user}@${addressOf(ssh)}${ssh.firstUse === true ? ', first key accepted' : ''}`
  return kind === 'Create' ? `would join ${to}` : `exists, ${to}`
}

function showPlan(steps: readonly HostStep[], output: string | undefined, io: Io): void {
  const made = steps.filter(({ kind }) => kind === 'Create').length
  if (output === 'json')
    io.out(shownJson({ hosts: steps.map((s) => ({ machine: s.name, plan: s.kind, spec: s.machine.spec })) }))
  else for (const step of steps) io.out(shownLine(`${step.name}: ${textFor(step)}`))
  io.err(shownLine(`${counted(made, 'Machine')} would be created, ${steps.length - made} exist; nothing was changed`))
}

async function create(client: KubeClient, steps: readonly HostStep[], signal: AbortSignal, io: Io): Promise<void> {
  const missing = steps.filter(({ kind }) => kind === 'Create')
  let done = 0
  const work = inParallel(missing, CREATED_AT_ONCE, async ({ machine }) => {
    signal.throwIfAborted()
    try {
      await client.create<Machine>(machineType, machine, { fieldManager: FIELD_MANAGERS.cli, signal })
    } catch (error) {
      // Another run of this command was faster.
      if (!isAlreadyExists(error)) throw error
    }
    done++
  })
  await withProgress(io, (elapsedMs) => countLine('creating Machines', done, missing.length, elapsedMs), work)
  io.err(shownLine(`${counted(missing.length, 'Machine')} created, ${steps.length - missing.length} existed`))
}

/** Returns the requests that failed, by name. */
async function retryFailed(
  client: KubeClient,
  steps: readonly HostStep[],
  io: Io,
): Promise<ReadonlyMap<string, string>> {
  const now = systemClock.now()
  const failed = failedRequests(
    steps.map(({ machine }) => machine),
    now,
  )
  const value = { metadata: { annotations: { [ANNOTATIONS.joinAgain]: timestamp(now) } } }
  await inParallel([...failed.keys()], CREATED_AT_ONCE, async (name) => {
    await client.patch(machineType, { name }, { type: 'merge', value }, { fieldManager: FIELD_MANAGERS.cli })
  })
  io.err(shownLine(`${counted(failed.size, 'failed host')} tried again`))
  return failed
}

interface Asked {
  readonly output: string | undefined
  readonly timeoutMs: number | undefined
}

function finish(steps: readonly HostStep[], { hosts, end }: Followed, { output, timeoutMs }: Asked, io: Io): void {
  const joined = countOf(hosts, 'Joined')
  if (output === 'json') io.out(shownJson({ joined, of: hosts.length, hosts }))
  io.err(shownLine(`${joined} of ${counted(hosts.length, 'host')} joined`))
  if (end === 'Late' && timeoutMs !== undefined)
    showProblem(io, shownLine(`still in progress after ${formatDuration(timeoutMs)}; it continues`))
  if (end === 'Held') showProblem(io, shownLine(heldText(hosts)))
  const failed = countOf(hosts, 'Failed', 'Deleted')
  if (failed > 0)
    showProblem(
      io,
      shownLine(`${counted(failed, 'host')} failed; correct the cause, then the same command with --retry-failed`),
    )
  const later = countOf(hosts, 'Later')
  if (later > 0)
    showProblem(io, shownLine(`${counted(later, 'host')} could not be reached; tried again every ten minutes`))
  if (joined !== hosts.length) throw new Exit(EXIT_DIFFERENT)
  for (const line of keyAway(steps)) io.err(shownLine(line))
}

const heldText = (hosts: readonly HostProgress[]): string => {
  const paused = hosts.find(({ state }) => state === 'Paused')
  return `${countOf(hosts, 'Paused')} not tried: ${paused === undefined ? 'paused' : outcomeText(paused)}`
}

/** SSH was the way in. From here on the key is only a risk. */
function keyAway(steps: readonly HostStep[]): readonly string[] {
  const users = [...new Set(steps.flatMap(({ machine }) => machine.spec.ssh?.user ?? []))].join(', ')
  const secrets = [...new Set(steps.flatMap(({ machine }) => machine.spec.ssh?.secretRef.name ?? []))]
  return [
    'the agents are connected, and the SSH key is no longer needed; take it away:',
    `  on the hosts, delete its line from ~/.ssh/authorized_keys of ${users}`,
    ...secrets.map((name) => `  kubectl -n ${SYSTEM_NAMESPACE} delete secret ${name}`),
  ]
}
