// Whether the distribution asks for a reboot: a new kernel, or a library in use, was installed. Pure.
import type { Reading } from './reading.ts'

/** Debian and Ubuntu, SUSE. They are in a file system that a boot empties. Distributions of Red Hat leave none. */
export const REBOOT_FILES = ['/run/reboot-required', '/run/reboot-needed']
/** Beside the first one: the packages that ask for it. */
export const REBOOT_PACKAGES = '/run/reboot-required.pkgs'

/** What `needs-restarting -r` of Red Hat compares with the time of the boot. */
const OF_RED_HAT = [
  'kernel',
  'kernel-core',
  'kernel-rt',
  'kernel-rt-core',
  'glibc',
  'linux-firmware',
  'microcode_ctl',
  'systemd',
  'dbus',
  'dbus-broker',
  'dbus-daemon',
  'openssl-libs',
  'gnutls',
]
export const RPM = '/usr/bin/rpm'
/** Its database, by the age of the distribution. One that is older than the boot has nothing new. */
export const RPM_DATABASES = [
  '/usr/lib/sysimage/rpm/rpmdb.sqlite',
  '/var/lib/rpm/rpmdb.sqlite',
  '/var/lib/rpm/Packages',
]
/** It fails when one of them is not installed, and prints the others all the same. */
export const RPM_QUERY = [
  '--query',
  '--queryformat',
  '%{INSTALLTIME} %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}\n',
  ...OF_RED_HAT,
]

const MOST_NAMED = 5
const MAX_CHARS = 4_096
const PACKAGE = /^[a-z0-9][a-z0-9+.:_~^-]{0,149}$/i

export interface RebootSigns {
  /** A file of the distribution asks. */
  readonly isAsked: boolean
  /** The text of its list; undefined without one. */
  readonly packages: string | undefined
  /** What rpm printed; undefined where it was not asked. */
  readonly installed?: string | undefined
  readonly bootedAt?: number
  /** Packages of kernels that the agent installed: the machine reboots for them when their version is due. */
  readonly own?: ReadonlySet<string>
}

export function judgeReboot({
  isAsked,
  packages,
  installed = '',
  bootedAt = Infinity,
  own = new Set(),
}: RebootSigns): Reading {
  const type = 'RebootRequired'
  const asking = [...new Set((packages ?? '').slice(0, MAX_CHARS).split('\n'))].filter((name) => PACKAGE.test(name))
  const newer = installedAfter(installed, bootedAt)
  const names = [...(isAsked ? asking : []), ...newer].filter((name) => !own.has(name))
  const isOnlyOwn = asking.length > 0 && asking.every((name) => own.has(name))
  if ((!isAsked || isOnlyOwn) && names.length === 0)
    return { type, status: 'False', reason: 'NoRebootRequired', message: 'no package asks for a reboot' }
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : ''
  const by = names.length === 0 ? '' : ` for ${names.slice(0, MOST_NAMED).join(', ')}${more}`
  return { type, status: 'True', reason: 'PackagesAsk', message: `the distribution asks for a reboot${by}` }
}

const installedAfter = (printed: string, bootedAt: number): readonly string[] =>
  printed.split('\n').flatMap((line) => {
    const [, seconds, name = ''] = /^(\d{1,12}) (\S+)$/.exec(line) ?? []
    return seconds !== undefined && Number(seconds) * 1_000 > bootedAt && PACKAGE.test(name) ? [name] : []
  })
