// Runs one pass of a rescue: one command on the host of a silent node, with the rescue key of its Machine. Any process can repeat each pass: the last command
// that succeeded is recorded, a reboot before it is ordered, and the host refuses to end any boot but the one that is named.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { findCondition } from '#kube/conditions.ts'
import { assertNever } from '#lib/errors.ts'
import { secretType } from '#nodes/objects.ts'
import type { Clearance } from '#permits/under-permit.ts'
import { keyOfSecret } from '#ssh/login/key-of-secret.ts'
import { acceptedKey, targetOf, trustsGiven } from '#ssh/login/target-of.ts'
import { type RescueCommand, isBootID, rebootCommand } from '#ssh/rescue-commands.ts'
import type { Session, SessionResult, SshSessions } from '#ssh/ssh-sessions.ts'
import type { ActionOutcome } from '#runtime/reconcile-with.ts'
import type { StepResult } from '../actions.ts'
import { type JobStep, type Seen, needsRescue, targetOf as targetOfJob } from '../seen.ts'
import { type JobTools, applied } from './step-tools.ts'

type Verb = NonNullable<JobStep['verb']>
type Login = Pick<Session, 'target' | 'identity'>
type Failed = Extract<SessionResult, { kind: 'Failed' }>

/** A reconcile ends after 30 s. */
const DEADLINE_MS = 25_000
const AGAIN_MS = 10_000

/** Pass by themselves while a host is slow or boots. */
const PASSING: ReadonlySet<Failed['failure']> = new Set<Failed['failure']>(['Unreachable', 'TimedOut', 'Busy'])
/** The host knows neither the key nor its commands. */
const REFUSED: ReadonlySet<Failed['failure']> = new Set<Failed['failure']>(['AuthRefused', 'PreflightFailed'])
const OF_KEYS: ReadonlySet<Failed['failure']> = new Set<Failed['failure']>(['HostKeyChanged', 'HostKeyUnknown'])

/** Reads the permit from the server, then calls `rescue`. */
export type UnderPermit = (rescue: (clearance: Clearance) => Promise<ActionOutcome>) => Promise<ActionOutcome>

export async function rescuePass(
  tools: JobTools,
  step: JobStep,
  seen: Seen,
  underItsPermit: UnderPermit,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { sessions } = tools
  if (!needsRescue(seen)) return applied(withoutRescue(step, seen))
  const verb = nextVerb(step)
  const command = commandOf(verb, step)
  if (command === undefined) return applied(ended(step, 'Failed', 'the boot to end is unknown'))
  // Recorded before it is sent: a host that shuts down may not answer, and any process must know that the order may have arrived.
  if (verb === 'Reboot' && step.verb !== 'Reboot')
    return applied({ output: added(step, 'Reboot: ordering'), keeps: { verb }, againMs: 0 })
  const login = await loginOf(tools, seen, signal)
  if (typeof login === 'string' || sessions === undefined)
    return applied(ended(step, 'Failed', typeof login === 'string' ? login : 'these controllers do not use SSH'))
  const session = { ...login, command, script: '', sudo: false, deadlineMs: DEADLINE_MS }
  return sessions.inTurn(
    login.target,
    (turn) => underItsPermit((clearance) => sent(clearance, turn, { step, seen, verb, session }, signal)),
    signal,
  )
}

interface Order {
  readonly step: JobStep
  readonly seen: Seen
  readonly verb: Verb
  readonly session: Session
}

async function sent(
  _clearance: Clearance,
  turn: Pick<SshSessions, 'run'>,
  { step, seen, verb, session }: Order,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const went = await turn.run(session, signal)
  if (went.kind === 'Failed') return applied(afterFailure(step, verb, went))
  const owner = went.facts.get('owner')
  if (owner !== targetOfJob(seen)?.uid)
    return applied(ended(step, 'Failed', `the host is of another Machine (UID ${owner ?? 'none'})`))
  return applied(afterAnswer(step, verb, went.facts))
}

/** No command is sent. A reboot that may have been ordered ends when the agent is back from it: a silent agent's last report can be from any boot. */
function withoutRescue(step: JobStep, { machine }: Seen): StepResult {
  if (step.verb !== 'Reboot') return ended(step, 'Skipped', 'the agent is no longer known to be silent')
  const boot = machine?.status?.bootID
  const isBack = findCondition(machine?.status?.conditions, 'AgentReachable')?.status === 'True'
  return isBack && boot !== undefined && boot !== step.bootID
    ? ended(step, 'Succeeded', 'the agent reports another boot')
    : { output: added(step, 'Reboot: the agent is no longer silent, and reports no other boot'), againMs: AGAIN_MS }
}

async function loginOf({ client }: JobTools, { machine }: Seen, signal: AbortSignal): Promise<Login | string> {
  const ssh = machine?.spec.ssh
  if (machine === undefined || ssh?.rescue === undefined) return 'the Machine has no rescue key (spec.ssh.rescue)'
  const target = targetOf(ssh, acceptedKey(ssh, machine.status?.join))
  // There is no first use here.
  if (trustsGiven(ssh) !== 1 || target.trust.kind === 'FirstUse') return 'no host key is known for this host'
  const { secretRef } = ssh.rescue
  const secret = await client.get(secretType, { namespace: SYSTEM_NAMESPACE, name: secretRef.name }, { signal })
  const key = keyOfSecret(secret, machine, { ...ssh, secretRef })
  return key.kind === 'Refused' ? key.why : { target, identity: key.identity }
}

const nextVerb = ({ operation, verb }: JobStep): Verb => {
  if (verb === undefined) return 'State'
  if (operation === 'rescueReboot') return 'Reboot'
  return verb === 'State' ? 'Evidence' : 'RestartAgent'
}

function commandOf(verb: Verb, { bootID }: JobStep): RescueCommand | undefined {
  switch (verb) {
    case 'State':
      return 'state'
    case 'Evidence':
      return 'evidence'
    case 'RestartAgent':
      return 'restart-agent'
    case 'Reboot':
      return isBootID(bootID) ? rebootCommand(bootID) : undefined
    default:
      return assertNever(verb)
  }
}

function afterFailure(step: JobStep, verb: Verb, { failure, why }: Failed): StepResult {
  const text = `${verb}: ${failure}: ${why}`
  // No node stays silent for its evidence.
  if (verb === 'Evidence') return { output: added(step, text), keeps: { verb }, againMs: 0 }
  // A host that shuts down refuses logins in many ways.
  const isBooting = step.verb === 'Reboot' && !OF_KEYS.has(failure)
  if (PASSING.has(failure) || isBooting) return { output: added(step, text), againMs: AGAIN_MS }
  // The first command only reads. Refused, it did nothing: the host joined without the key, or has another program in its place.
  return ended(step, verb === 'State' && REFUSED.has(failure) ? 'Skipped' : 'Failed', text)
}

function afterAnswer(step: JobStep, verb: Verb, facts: ReadonlyMap<string, string>): StepResult {
  const goesOn = (text: string, keeps: StepResult['keeps'] = { verb }): StepResult => ({
    output: added(step, `${verb}: ${text}`),
    keeps,
    againMs: 0,
  })
  const of = (...names: readonly string[]): string =>
    names.flatMap((name) => (facts.get(name) ? `${name} ${facts.get(name)}` : [])).join('; ') || 'nothing reported'
  switch (verb) {
    case 'State': {
      const bootID = facts.get('bootID')
      if (!isBootID(bootID)) return ended(step, 'Failed', 'State: the host reports no boot ID')
      return goesOn(of('agent', 'kubelet', 'uptime', 'load', 'memory'), { verb, bootID })
    }
    case 'Evidence':
      return goesOn(
        `${facts.get('place') ? `saved on the host in ${facts.get('place')}` : 'the host cannot save it'}; ${of('agentSays', 'kernelSays')}`,
      )
    case 'RestartAgent':
      return { ...ended(step, 'Succeeded', `RestartAgent: ${of('agent')}`), keeps: { verb } }
    case 'Reboot':
      return facts.get('reboot') === 'done'
        ? { ...ended(step, 'Succeeded', 'Reboot: the host has booted'), keeps: { verb } }
        : { ...goesOn(of('reboot', 'systemd')), againMs: AGAIN_MS }
    default:
      return assertNever(verb)
  }
}

const ended = (step: JobStep, outcome: NonNullable<StepResult['outcome']>, text: string): StepResult => ({
  outcome,
  output: added(step, text),
})

/** A wait is one line, however often it is tried. */
function added({ output = '' }: JobStep, line: string): string {
  const lines = output === '' ? [] : output.split('\n')
  return (lines.at(-1) === line ? lines : [...lines, line]).join('\n')
}
