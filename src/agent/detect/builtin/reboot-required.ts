// Whether the distribution asks for a reboot: its package manager leaves a file when a new kernel or a library in use was installed. Pure.
import type { Reading } from './reading.ts'

/** Debian and Ubuntu, SUSE. They are in a file system that a boot empties. Distributions of Red Hat leave none. */
export const REBOOT_FILES = ['/run/reboot-required', '/run/reboot-needed']
/** Beside the first one: the packages that ask for it. */
export const REBOOT_PACKAGES = '/run/reboot-required.pkgs'

const MOST_NAMED = 5
const MAX_CHARS = 4_096
const PACKAGE = /^[a-z0-9][a-z0-9+.:_-]{0,99}$/i

/** `packages`: the text of the list; undefined without one. */
export function judgeReboot(isAsked: boolean, packages: string | undefined): Reading {
  const type = 'RebootRequired'
  if (!isAsked) return { type, status: 'False', reason: 'NoRebootRequired', message: 'no package asks for a reboot' }
  const names = [...new Set((packages ?? '').slice(0, MAX_CHARS).split('\n'))].filter((name) => PACKAGE.test(name))
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : ''
  const by = names.length === 0 ? '' : ` for ${names.slice(0, MOST_NAMED).join(', ')}${more}`
  return { type, status: 'True', reason: 'PackagesAsk', message: `the distribution asks for a reboot${by}` }
}
