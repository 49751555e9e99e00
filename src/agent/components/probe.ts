// Runs one probe of a component: a request, a connection, a file check or a command on the node. Never throws; the answer describes what was observed.
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import type http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { messageOf } from '#lib/errors.ts'
import { parseDuration } from '#lib/duration.ts'
import { nodeHttp } from '#lib/node-http.ts'
import { refuseUpgrade } from '#lib/refuse-upgrade.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { askCriStatus } from '../detect/npd/runtime-call.ts'
import type { LeaseRenewal } from '../node/lease-renewal.ts'
import { onNode, type NodeDir } from '../node-dir.ts'
import { programOutput } from '../program-output.ts'
import { lastLines } from '../last-lines.ts'
import type { Systemctl } from '../supervise/systemd/systemctl.ts'

export type Probe = NonNullable<MachineComponentSpec['probes']>[number]

/**
 * NoAnswer: the process does not answer (yet, or any longer). Fail: it answered, but the answer is bad. Unknown: it could not be asked, which says nothing about
 * it.
 */
export type ProbeAnswer =
  | { readonly kind: 'Pass' }
  | { readonly kind: 'Fail' | 'NoAnswer' | 'Unknown'; readonly message: string }

export interface ProbePlace {
  readonly dir: NodeDir
  /** A loopback address: every node on one machine has its own. */
  readonly address: string
  /** Milliseconds since 1970, for the age of files. */
  readonly now: () => number
  readonly environment: Readonly<Record<string, string>>
  /** Absent where systemd does not run the node. */
  readonly systemctl?: Pick<Systemctl, 'show'> | undefined
  /** The Node's Lease, as the API server has it. */
  readonly leaseRenewal: () => Promise<LeaseRenewal>
}

const PASS: ProbeAnswer = { kind: 'Pass' }
const KEPT_BYTES = 4_096

/** `watchedMs`: how long the process has been probed. */
export async function runProbe(probe: Probe, place: ProbePlace, watchedMs: number): Promise<ProbeAnswer> {
  const timeoutMs = parseDuration(probe.timeout)
  if (probe.http !== undefined) return probeHttp(probe.http, place.address, timeoutMs)
  if (probe.tcp !== undefined) return probeTcp(probe.tcp.port, place.address, timeoutMs)
  if (probe.file !== undefined) return probeFile(probe.file, place)
  if (probe.exec !== undefined) return probeExec(probe.exec.command, place, timeoutMs)
  if (probe.unit !== undefined) return probeUnit(probe.unit.name, place)
  if (probe.cri !== undefined) return probeCri(probe.cri.socket, place, timeoutMs)
  if (probe.nodeLease !== undefined) return probeLease(probe.nodeLease, place, watchedMs)
  return { kind: 'Fail', message: 'the probe has nothing to check' }
}

export async function probeUnit(name: string, { systemctl }: Pick<ProbePlace, 'systemctl'>): Promise<ProbeAnswer> {
  if (systemctl === undefined) return { kind: 'Fail', message: 'this node does not run systemd' }
  try {
    const [state] = await systemctl.show([name])
    if (state?.active === 'active') return PASS
    return {
      kind: state?.active === 'activating' ? 'NoAnswer' : 'Fail',
      message: `${name} is ${state?.active ?? 'unknown'}`,
    }
  } catch (e) {
    return { kind: 'NoAnswer', message: messageOf(e) }
  }
}

async function probeCri(socket: string, { dir }: ProbePlace, timeoutMs: number): Promise<ProbeAnswer> {
  const answer = await askCriStatus(onNode(dir, socket), timeoutMs)
  if (answer.kind === 'Ready') return PASS
  return { kind: answer.kind === 'NotReady' ? 'Fail' : 'NoAnswer', message: `CRI: ${answer.message}` }
}

/** A renewal by the previous process proves nothing, and neither does a silent API server. */
export async function probeLease(
  { maxAge }: NonNullable<Probe['nodeLease']>,
  { leaseRenewal, now }: Pick<ProbePlace, 'leaseRenewal' | 'now'>,
  watchedMs: number,
): Promise<ProbeAnswer> {
  const renewal = await leaseRenewal()
  if (renewal.kind === 'Unknown') return PASS
  if (renewal.kind === 'None') return { kind: 'NoAnswer', message: 'the Node has no Lease' }
  const ageMs = now() - renewal.at
  if (ageMs > watchedMs) return { kind: 'NoAnswer', message: 'the Lease of the Node was not renewed since the start' }
  if (ageMs <= parseDuration(maxAge)) return PASS
  return { kind: 'Fail', message: `the Lease of the Node was last renewed more than ${maxAge} ago` }
}

type HttpProbe = NonNullable<Probe['http']>

const probeHttp = ({ port, path, tls }: HttpProbe, host: string, timeoutMs: number): Promise<ProbeAnswer> =>
  new Promise((resolve) => {
    const options = { host, port, path, timeout: timeoutMs, agent: false } as const
    const onResponse = (response: http.IncomingMessage): void => {
      const { statusCode = 0 } = response
      response.destroy()
      if (statusCode >= 200 && statusCode < 400) resolve(PASS)
      else resolve({ kind: 'Fail', message: `HTTP ${statusCode} from ${path}` })
    }
    // On loopback, the component's certificate adds nothing to the connection itself.
    const request = tls
      ? https.get({ ...options, rejectUnauthorized: false }, onResponse)
      : nodeHttp.get(options, onResponse)
    refuseUpgrade(request)
    request.on('timeout', () => request.destroy(new Error(`no answer within ${timeoutMs} ms`)))
    request.on('error', (e) => resolve({ kind: 'NoAnswer', message: `${path}: ${messageOf(e)}` }))
  })

const probeTcp = (port: number, host: string, timeoutMs: number): Promise<ProbeAnswer> =>
  new Promise((resolve) => {
    const socket = net.connect({ port, host, timeout: timeoutMs })
    const end = (answer: ProbeAnswer): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.on('connect', () => end(PASS))
    socket.on('timeout', () => end({ kind: 'NoAnswer', message: `port ${port}: no answer within ${timeoutMs} ms` }))
    socket.on('error', (e) => end({ kind: 'NoAnswer', message: `port ${port}: ${messageOf(e)}` }))
  })

async function probeFile({ path, maxAge }: NonNullable<Probe['file']>, place: ProbePlace): Promise<ProbeAnswer> {
  try {
    const { mtimeMs } = await stat(onNode(place.dir, path))
    const ageMs = place.now() - mtimeMs
    if (maxAge === undefined || ageMs <= parseDuration(maxAge)) return PASS
    return { kind: 'Fail', message: `${path} is older than ${maxAge}` }
  } catch {
    return { kind: 'NoAnswer', message: `${path} is not there` }
  }
}

async function probeExec(command: readonly string[], place: ProbePlace, timeoutMs: number): Promise<ProbeAnswer> {
  const [program = '', ...args] = command
  const own = onNode(place.dir, program)
  const { problem, stdout, stderr } = await programOutput({
    program: existsSync(own) ? own : program,
    args,
    timeoutMs,
    maxBytes: KEPT_BYTES,
    environment: place.environment,
    folder: place.dir.root,
  })
  if (problem === undefined) return PASS
  const last = lastLines(`${stdout.text}\n${stderr.text}`, 1)
  return { kind: 'Fail', message: `${program}: ${problem}${last === '' ? '' : `: ${last}`}` }
}
