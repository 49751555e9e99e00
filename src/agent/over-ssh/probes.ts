// The probes of components on a host without an agent, run on the host itself: its own curl asks over HTTP, its bash opens ports. Never throws.
import { parseDuration } from '#lib/duration.ts'
import { messageOf } from '#lib/errors.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { fieldAt, objectIn, objectsIn } from '#lib/fields.ts'
import { oneLine } from '#ssh/answers.ts'
import { quoted } from '#ssh/channel.ts'
import { type Probe, type ProbeAnswer, probeLease, probeUnit } from '../components/probe.ts'
import type { LeaseRenewal } from '../node/lease-renewal.ts'
import { onNode } from '../node-dir.ts'
import type { Systemctl } from '../supervise/systemd/systemctl.ts'
import { type ProgramDeps, lastLineOf, programOverSsh } from './programs.ts'

export interface ProbeOverSshDeps extends ProgramDeps {
  readonly address: string
  readonly systemctl: Pick<Systemctl, 'show'>
  readonly now: () => number
  readonly leaseRenewal: () => Promise<LeaseRenewal>
}

const PASS: ProbeAnswer = { kind: 'Pass' }
const MARGIN_MS = 10_000
const NOT_FOUND = 127
const ABSENT = 44

/** Programs of the host that ask in place of an agent. */
export const PROBE_PROGRAMS = ['curl', 'bash', 'crictl'] as const
export type ProbePrograms = ReadonlySet<(typeof PROBE_PROGRAMS)[number]>

/** Why its probes cannot run on this host; undefined: they can. */
export function probesRefusal(
  { probes = [] }: Pick<MachineComponentSpec, 'probes'>,
  there: ProbePrograms,
): string | undefined {
  for (const probe of probes) {
    const needed = probe.http ? 'curl' : probe.tcp ? 'bash' : probe.cri ? 'crictl' : undefined
    if (needed !== undefined && !there.has(needed))
      return `probe ${probe.name} needs ${needed} on a host without an agent, and the host has none`
  }
  return undefined
}

export async function probeOverSsh(probe: Probe, deps: ProbeOverSshDeps, watchedMs: number): Promise<ProbeAnswer> {
  const timeoutMs = parseDuration(probe.timeout)
  try {
    if (probe.http !== undefined) return await probeHttp(probe.http, deps, timeoutMs)
    if (probe.tcp !== undefined) return await probeTcp(probe.tcp.port, deps, timeoutMs)
    if (probe.file !== undefined) return await probeFile(probe.file, deps)
    if (probe.exec !== undefined) return await probeExec(probe.exec.command, deps, timeoutMs)
    if (probe.unit !== undefined) return await probeUnit(probe.unit.name, deps)
    if (probe.cri !== undefined) return await probeCri(probe.cri.socket, deps, timeoutMs)
    if (probe.nodeLease !== undefined) return await probeLease(probe.nodeLease, deps, watchedMs)
  } catch (e) {
    // The session is lost, or the host cannot run the probe.
    return { kind: 'Unknown', message: messageOf(e) }
  }
  return { kind: 'Fail', message: 'the probe has nothing to check' }
}

type HttpProbe = NonNullable<Probe['http']>

/** On loopback, the component's certificate adds nothing to the connection itself. */
async function probeHttp(
  { port, path, tls }: HttpProbe,
  { channel, address }: ProbeOverSshDeps,
  timeoutMs: number,
): Promise<ProbeAnswer> {
  const url = `${tls ? 'https' : 'http'}://${address}:${port}${path.startsWith('/') ? '' : '/'}${path}`
  const seconds = (timeoutMs / 1_000).toFixed(3)
  const { code, stdout } = await channel.ask({
    snippet: `curl -q -s -k -g --noproxy '*' -o /dev/null -w '%{http_code}' --max-time ${seconds} -- ${quoted(url)}`,
    deadlineMs: timeoutMs + MARGIN_MS,
    maxBytes: 64,
  })
  if (code === NOT_FOUND)
    return { kind: 'Unknown', message: 'the host has no curl, which asks over HTTP where there is no agent' }
  if (code !== 0) return { kind: 'NoAnswer', message: `${path}: no answer (curl ${code})` }
  const status = Number(/^\d{3}$/.exec(stdout.toString('latin1'))?.[0] ?? 0)
  return status >= 200 && status < 400 ? PASS : { kind: 'Fail', message: `HTTP ${status} from ${path}` }
}

async function probeTcp(port: number, { channel, address }: ProbeOverSshDeps, timeoutMs: number): Promise<ProbeAnswer> {
  const { code } = await channel.ask({
    snippet: `timeout ${(timeoutMs / 1_000).toFixed(3)} bash -c ${quoted(`</dev/tcp/${address}/${port}`)}`,
    deadlineMs: timeoutMs + MARGIN_MS,
  })
  if (code === 0) return PASS
  if (code === NOT_FOUND)
    return { kind: 'Unknown', message: 'the host has no bash, which opens ports where there is no agent' }
  return { kind: 'NoAnswer', message: `port ${port}: ${code === 124 ? `no answer within ${timeoutMs} ms` : 'refused'}` }
}

/** Prints the status of the runtime at a socket. */
export const criInfo = (socket: string, seconds: number | string): string =>
  `timeout -k 1 ${seconds} crictl --runtime-endpoint ${quoted(`unix://${socket}`)} --timeout ${seconds}s info`

/** The status of the runtime is JSON, of which only the conditions are read. */
async function probeCri(socket: string, { channel, dir }: ProbeOverSshDeps, timeoutMs: number): Promise<ProbeAnswer> {
  const seconds = (timeoutMs / 1_000).toFixed(3)
  const { code, stdout, stderr } = await channel.ask({
    snippet: criInfo(onNode(dir, socket), seconds),
    deadlineMs: timeoutMs + MARGIN_MS,
  })
  if (code === NOT_FOUND)
    return { kind: 'Unknown', message: 'the host has no crictl, which asks runtimes where there is no agent' }
  if (code !== 0)
    return {
      kind: 'NoAnswer',
      message: `CRI: ${code === 124 ? `no answer within ${timeoutMs} ms` : stderr || `crictl ${code}`}`,
    }
  return criAnswer(stdout.toString('utf8'))
}

function criAnswer(text: string): ProbeAnswer {
  const ready = objectsIn(fieldAt(objectIn(text), 'status', 'conditions')).find((c) => c['type'] === 'RuntimeReady')
  if (ready === undefined) return { kind: 'Fail', message: 'CRI: its status has no condition RuntimeReady' }
  if (ready['status'] === true) return PASS
  return { kind: 'Fail', message: `CRI: ${oneLine(String(ready['message'] ?? 'the runtime is not ready'))}` }
}

/** By the clock of the host, as its files. */
async function probeFile(
  { path, maxAge }: NonNullable<Probe['file']>,
  { channel, dir }: ProbeOverSshDeps,
): Promise<ProbeAnswer> {
  const p = quoted(onNode(dir, path))
  const { code, stdout } = await channel.ask({
    snippet: `[ -e ${p} ] || exit ${ABSENT}; stat -L -c %Y -- ${p} && date +%s`,
    deadlineMs: MARGIN_MS,
    maxBytes: 64,
  })
  const [changed, now] = /^(\d{1,12})\n(\d{1,12})\n$/.exec(stdout.toString('latin1'))?.slice(1) ?? []
  if (code !== 0 || changed === undefined || now === undefined)
    return { kind: 'NoAnswer', message: `${path} is not there` }
  const ageMs = (Number(now) - Number(changed)) * 1_000
  if (maxAge === undefined || ageMs <= parseDuration(maxAge)) return PASS
  return { kind: 'Fail', message: `${path} is older than ${maxAge}` }
}

async function probeExec(command: readonly string[], deps: ProbeOverSshDeps, timeoutMs: number): Promise<ProbeAnswer> {
  const { problem, output } = await programOverSsh(deps, command, timeoutMs)
  if (problem === undefined) return PASS
  const last = lastLineOf(output)
  return { kind: 'Fail', message: `${command[0] ?? ''}: ${problem}${last === '' ? '' : `: ${last}`}` }
}
