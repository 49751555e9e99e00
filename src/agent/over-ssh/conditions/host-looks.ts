// What the detectors of a host without an agent see, read in one snippet: room, clock, services, the boot, tasks that hang, certificates. Each part is
// undefined when the host could not tell: that says nothing about its health.
import { DETECTOR_DEFAULTS } from '#api/agent-config/detector-settings.ts'
import { visible } from '#lib/printable.ts'
import { type Channel, quoted } from '#ssh/channel.ts'
import { type BootTime, BOOT_ARGUMENTS, bootTime } from '../../detect/builtin/boot-time.ts'
import { type CertificateLife, lifeOf } from '../../detect/builtin/certificates.ts'
import { type SleepingTask, sleepingTask } from '../../detect/builtin/hung-tasks.ts'
import { REBOOT_FILES, REBOOT_PACKAGES } from '../../detect/builtin/reboot-required.ts'
import { criInfo } from '../probes.ts'
import { type Room, roomIn, STAT_ROOM } from '../room.ts'

interface Space extends Room {
  readonly path: string
}

export interface ServiceLook {
  readonly service: string
  readonly isActive: boolean
  readonly state: string
  /** Undefined: it could not be asked. */
  readonly answers: boolean | undefined
}

export interface HostLooks {
  readonly nowMs: number | undefined
  readonly spaces: readonly Space[]
  readonly isRebootAsked: boolean
  readonly packages: string
  readonly boot: BootTime | undefined
  readonly tasks: readonly SleepingTask[] | undefined
  readonly certificates: readonly CertificateLife[]
  readonly services: readonly ServiceLook[]
}

/** Longer than all that is asked in it, each at its limit. */
const WITHIN_MS = 180_000
const MAX_BYTES = 256 * 1024
const PART_BYTES = 64 * 1024
const { disk, certificates, kubelet, runtime } = DETECTOR_DEFAULTS
const SERVICES = ['kubelet', ...runtime.services]

/** Exits with 127 when the host has no such program. */
const askedBy = (service: string): string => {
  if (service === 'kubelet')
    return `curl -q -s -f -o /dev/null --max-time ${kubelet.timeoutMs / 1_000} http://127.0.0.1:10248/healthz`
  const seconds = runtime.timeoutMs / 1_000
  if (service === 'docker')
    return `curl -q -s -f -o /dev/null --max-time ${seconds} --unix-socket /var/run/docker.sock 'http://docker/containers/json?limit=1'`
  const path = service === 'crio' ? '/var/run/crio/crio.sock' : `/var/run/${service}/${service}.sock`
  return `${criInfo(path, seconds)} >/dev/null`
}

/** Name, state and answer of each service that the host has; only one that runs is asked. */
const SERVICE_LOOKS = SERVICES.map(
  (service) => `s=$(systemctl show -p LoadState,ActiveState,SubState -- ${service}.service) || s=
case $s in *LoadState=loaded*)
c=
case $s in *ActiveState=active*) ${askedBy(service)} </dev/null; c=$?;; esac
printf '%s %s %s\\n' ${service} "$(printf '%s' "$s" | sed -n 's/^ActiveState=//p;s/^SubState=//p' | tr '\\n' ' ')" "$c";;
esac`,
).join('\n')

/** Of a file that also has a key, the key stays where it is. */
const CERTIFICATE = (path: string): string =>
  `sed -n '/-----BEGIN CERTIFICATE-----/,/-----END CERTIFICATE-----/p' ${quoted(path)} | head -c 16384; echo; echo '== '`

const READS = [
  'date +%s%3N',
  disk.paths.map((path, n) => `printf '${n} '; timeout -k 1 5 ${STAT_ROOM} ${quoted(path)} || echo`).join('\n'),
  REBOOT_FILES.map((path) => `[ ! -e ${quoted(path)} ] || echo asked`).join('\n'),
  `head -c 4096 ${REBOOT_PACKAGES}`,
  `systemctl ${BOOT_ARGUMENTS.join(' ')}`,
  // It ends with a word when all were read: none that hang is news as well.
  `grep -hs '^[0-9]* (.*) D ' /proc/[0-9]*/stat | head -c ${PART_BYTES}; echo all`,
  certificates.paths.map(CERTIFICATE).join('\n'),
  SERVICE_LOOKS,
] as const

export async function lookAt(channel: Pick<Channel, 'ask'>): Promise<HostLooks> {
  const snippet = READS.map((read) => `{ ${read}\n} 2>/dev/null; printf '\\0'`).join('\n')
  const { stdout } = await channel.ask({ snippet, deadlineMs: WITHIN_MS, maxBytes: MAX_BYTES })
  const [now = '', spaces = '', asked = '', packages = '', boot = '', tasks = '', pems = '', services = ''] = stdout
    .toString('utf8')
    .split('\0')
    .map(visible)
  return {
    nowMs: /^\d{13}$/.test(now.trim()) ? Number(now) : undefined,
    spaces: spaces.split('\n').flatMap(spaceIn),
    isRebootAsked: asked.trim() !== '',
    packages,
    boot: bootTime(boot),
    tasks: tasks.trimEnd().endsWith('all') ? tasks.split('\n').flatMap((line) => sleepingTask(line) ?? []) : undefined,
    certificates: pems.split('\n== \n').flatMap((pem, n) => lifeOf(certificates.paths[n] ?? '', pem) ?? []),
    services: services.split('\n').flatMap(serviceIn),
  }
}

/** The number of the path comes first. */
const SPACE = /^(\d{1,2}) (.*)$/

function spaceIn(line: string): readonly Space[] {
  const [, n = '', rest = ''] = SPACE.exec(line) ?? []
  const [path, room] = [n === '' ? undefined : disk.paths[Number(n)], roomIn(rest)]
  return path === undefined || room === undefined ? [] : [{ path, ...room }]
}

const SERVICE = /^([a-z]{1,20}) ([a-z-]{1,20}) ([a-z-]{1,30}) +(\d{0,3})$/
const NOT_FOUND = 127

function serviceIn(line: string): readonly ServiceLook[] {
  const [, service = '', active = '', sub = '', code = ''] = SERVICE.exec(line) ?? []
  if (!SERVICES.includes(service)) return []
  const answers = code === '' || Number(code) === NOT_FOUND ? undefined : Number(code) === 0
  return [{ service, isActive: active === 'active', state: `${active} (${sub})`, answers }]
}
