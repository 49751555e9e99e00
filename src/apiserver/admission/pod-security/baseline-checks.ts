// The checks of the level "baseline": known ways from a pod to its host. The rules and words of Kubernetes 1.36.
import { fields, listAt, text, textsAt, type Fields } from '../../builtin/fields.ts'
import {
  counted,
  hasOwnUsers,
  named,
  namesOf,
  quoted,
  settersOf,
  sorted,
  valuesOf,
  type Check,
  type ContainerView,
  type PodView,
} from './pod-view.ts'

const APPARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/'
const PROFILES: ReadonlySet<string> = new Set(['RuntimeDefault', 'Localhost'])

/** The type of a profile in a security context, when there is one. */
const profileOf =
  (field: string) =>
  (security: Fields): readonly string[] =>
    security[field] === undefined ? [] : [text(fields(security[field])['type'])]

const isBadProfile = (type: string): boolean => !PROFILES.has(type)

export const appArmorProfile: Check = (pod) => {
  const read = profileOf('appArmorProfile')
  const setters = settersOf(pod, (s) => read(s).some(isBadProfile))
  const annotations = Object.entries(pod.annotations)
    .filter(([key, value]) => key.startsWith(APPARMOR_PREFIX) && !isAllowedAppArmor(value))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .toSorted()
  const values = [...valuesOf(pod, read).filter(isBadProfile), ...annotations]
  if (values.length === 0) return undefined
  const inAnnotations = annotations.length === 0 ? [] : [counted('annotation', 'annotations', annotations.length)]
  const who = [...(setters === '' ? [] : [setters]), ...inAnnotations].join(' and ')
  return {
    reason: counted('forbidden AppArmor profile', 'forbidden AppArmor profiles', values.length),
    detail: `${who} must not set AppArmor profile type to ${quoted(values)}`,
  }
}

const isAllowedAppArmor = (value: string): boolean =>
  value === '' || value === 'runtime/default' || value.startsWith('localhost/')

const DEFAULT_CAPABILITIES: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
])

export const capabilities: Check = (pod) => {
  const added = ({ security }: ContainerView) =>
    textsAt(fields(security['capabilities']), 'add').filter((c) => !DEFAULT_CAPABILITIES.has(c))
  const names = namesOf(pod, (c) => added(c).length > 0)
  if (names.length === 0) return undefined
  const all = sorted(pod.containers.flatMap(added))
  return {
    reason: 'non-default capabilities',
    detail: `${named(names)} must not include ${quoted(all)} in securityContext.capabilities.add`,
  }
}

export const hostNamespaces: Check = ({ spec }) => {
  const shared = ['hostNetwork', 'hostPID', 'hostIPC'].filter((field) => spec[field] === true)
  return shared.length === 0
    ? undefined
    : { reason: 'host namespaces', detail: shared.map((field) => `${field}=true`).join(', ') }
}

export const hostPathVolumes: Check = ({ spec }) => {
  const names = listAt(spec, 'volumes').filter((v) => v['hostPath'] !== undefined)
  return names.length === 0
    ? undefined
    : {
        reason: 'hostPath volumes',
        detail: named(
          names.map((v) => text(v['name'])),
          'volume',
        ),
      }
}

export const hostPorts: Check = (pod) => {
  const taken = ({ all }: ContainerView) =>
    listAt(all, 'ports').flatMap(({ hostPort }) => (typeof hostPort === 'number' && hostPort !== 0 ? [hostPort] : []))
  const names = namesOf(pod, (c) => taken(c).length > 0)
  if (names.length === 0) return undefined
  const ports = sorted(pod.containers.flatMap(taken).map(String))
  const uses = counted('uses', 'use', names.length)
  return {
    reason: 'hostPort',
    detail: `${named(names)} ${uses} ${counted('hostPort', 'hostPorts', ports.length)} ${ports.join(', ')}`,
  }
}

export const probeHosts: Check = (pod) => {
  const hostsOf = ({ all }: ContainerView) => {
    const lifecycle = fields(all['lifecycle'])
    return [
      ...['livenessProbe', 'readinessProbe', 'startupProbe'].map((probe) => fields(all[probe])),
      ...['postStart', 'preStop'].map((hook) => fields(lifecycle[hook])),
    ]
      .flatMap((handler) => ['httpGet', 'tcpSocket'].map((how) => text(fields(handler[how])['host'])))
      .filter((host) => host !== '')
  }
  const names = sorted(namesOf(pod, (c) => hostsOf(c).length > 0))
  if (names.length === 0) return undefined
  const hosts = sorted(pod.containers.flatMap(hostsOf))
  const what = counted('probe or lifecycle host', 'probe or lifecycle hosts', hosts.length)
  return {
    reason: 'probe or lifecycle host',
    detail: `${named(names)} ${counted('uses', 'use', names.length)} ${what} ${quoted(hosts)}`,
  }
}

export const privileged: Check = (pod) => {
  const names = namesOf(pod, (c) => c.security['privileged'] === true)
  return names.length === 0
    ? undefined
    : { reason: 'privileged', detail: `${named(names)} must not set securityContext.privileged=true` }
}

export const procMount: Check = (pod) => {
  const mountOf = ({ security }: ContainerView) =>
    security['procMount'] === undefined || security['procMount'] === 'Default' ? [] : [text(security['procMount'])]
  const names = namesOf(pod, (c) => mountOf(c).length > 0)
  if (names.length === 0) return undefined
  const types = sorted(pod.containers.flatMap(mountOf))
  return { reason: 'procMount', detail: `${named(names)} must not set securityContext.procMount to ${quoted(types)}` }
}

/** The check, for pods that share the users of their host. */
export const unlessOwnUsers =
  (check: Check): Check =>
  (pod) =>
    hasOwnUsers(pod) ? undefined : check(pod)

const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t']

const seLinux =
  (types: ReadonlySet<string>): Check =>
  (pod) => {
    const of = (security: Fields) => fields(security['seLinuxOptions'])
    const badType = (s: Fields) => (types.has(text(of(s)['type'])) ? [] : [text(of(s)['type'])])
    const sets = (s: Fields, field: string) => text(of(s)[field]) !== ''
    const isBad = (s: Fields) => badType(s).length > 0 || sets(s, 'user') || sets(s, 'role')
    const setters = settersOf(pod, isBad)
    if (setters === '') return undefined
    const bad = valuesOf(pod, badType)
    const contexts = [pod.security, ...pod.containers.map((c) => c.security)]
    const wrong = [
      ...(bad.length === 0 ? [] : [named(bad, 'type')]),
      ...['user', 'role'].filter((f) => contexts.some((s) => sets(s, f))).map((f) => `${f} may not be set`),
    ]
    return {
      reason: 'seLinuxOptions',
      detail: `${setters} set forbidden securityContext.seLinuxOptions: ${wrong.join('; ')}`,
    }
  }
export const seLinuxOptions = seLinux(new Set(SELINUX_TYPES))
export const seLinuxOptions31 = seLinux(new Set([...SELINUX_TYPES, 'container_engine_t']))

const SECCOMP = 'seccomp.security.alpha.kubernetes.io/'

/** Before 1.19 profiles were annotations. */
export const seccompAnnotations: Check = ({ annotations, containers }) => {
  const keys = [`${SECCOMP}pod`, ...containers.map((c) => `container.${SECCOMP}${c.name}`)]
  const isAllowed = (v: string) => v === 'runtime/default' || v === 'docker/default' || v.startsWith('localhost/')
  const bad = sorted(
    keys.flatMap((key) => {
      const value = Object.hasOwn(annotations, key) ? annotations[key] : undefined
      return value === undefined || isAllowed(value) ? [] : [`${key}=${JSON.stringify(value)}`]
    }),
  )
  if (bad.length === 0) return undefined
  return {
    reason: 'seccompProfile',
    detail: `forbidden ${counted('annotation', 'annotations', bad.length)} ${bad.join(', ')}`,
  }
}

export const seccompOf = profileOf('seccompProfile')

export const seccompProfile: Check = (pod: PodView) => {
  const setters = settersOf(pod, (s) => seccompOf(s).some(isBadProfile))
  if (setters === '') return undefined
  const values = valuesOf(pod, seccompOf).filter(isBadProfile)
  return {
    reason: 'seccompProfile',
    detail: `${setters} must not set securityContext.seccompProfile.type to ${quoted(values)}`,
  }
}

const SYSCTLS = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
]
const SYSCTLS_27 = [...SYSCTLS, 'net.ipv4.ip_local_reserved_ports']
const SYSCTLS_29 = [
  ...SYSCTLS_27,
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
]
const SYSCTLS_32 = [...SYSCTLS_29, 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem']

const sysctlsBeside =
  (allowed: readonly string[]): Check =>
  ({ security }) => {
    const names = listAt(security, 'sysctls').map((s) => text(s['name']))
    const bad = names.filter((name) => !allowed.includes(name))
    return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') }
  }
export const sysctls = sysctlsBeside(SYSCTLS)
export const sysctls27 = sysctlsBeside(SYSCTLS_27)
export const sysctls29 = sysctlsBeside(SYSCTLS_29)
export const sysctls32 = sysctlsBeside(SYSCTLS_32)

export const windowsHostProcess: Check = (pod) => {
  const setters = settersOf(pod, (s) => fields(s['windowsOptions'])['hostProcess'] === true)
  return setters === ''
    ? undefined
    : { reason: 'hostProcess', detail: `${setters} must not set securityContext.windowsOptions.hostProcess=true` }
}
