// What the file says that package managers leave when a reboot is needed.
import { expect, test } from 'vitest'
import { judgeReboot } from './reboot-required.ts'

test.each([
  ['no file', false, undefined, 'False', 'no package asks for a reboot'],
  ['a file without a list', true, undefined, 'True', 'the distribution asks for a reboot'],
  [
    'packages, each once',
    true,
    'linux-image-6.1.0-26-amd64\nlibc6\nlibc6\n',
    'True',
    'the distribution asks for a reboot for linux-image-6.1.0-26-amd64, libc6',
  ],
  [
    'many packages',
    true,
    'a\nb\nc\nd\ne\nf\ng\n',
    'True',
    'the distribution asks for a reboot for a, b, c, d, e and 2 more',
  ],
  ['what is no package', true, '\u001b[2J\n$(reboot)\n\n', 'True', 'the distribution asks for a reboot'],
  ['a list left behind', false, 'libc6\n', 'False', 'no package asks for a reboot'],
])('%s', (_what, isAsked, packages, status, message) =>
  expect(judgeReboot({ isAsked, packages })).toMatchObject({ type: 'RebootRequired', status, message }),
)

const BOOTED_AT = Date.parse('2026-01-31T00:00:00Z')
const rpm = (...packages: readonly (readonly [minutes: number, name: string])[]): string =>
  packages.map(([minutes, name]) => `${BOOTED_AT / 1_000 + minutes * 60} ${name}\n`).join('')
const KERNEL = 'kernel-core-5.14.0-503.el9.x86_64'
const GLIBC = 'glibc-2.34-125.el9.x86_64'

test.each([
  ['nothing is newer than the boot', rpm([-60, KERNEL], [-60, GLIBC]), [], undefined],
  ['a kernel is newer', rpm([-60, GLIBC], [5, KERNEL]), [], `for ${KERNEL}`],
  [
    'a library is newer, and some are not installed',
    `package dbus is not installed\n${rpm([5, GLIBC])}`,
    [],
    `for ${GLIBC}`,
  ],
  ['only a kernel that the agent installed is newer', rpm([5, KERNEL]), [KERNEL], undefined],
  ['rpm printed something else', 'error: rpmdb: damaged\n', [], undefined],
])('rpm: %s', (_what, installed, own, by) => {
  const made = judgeReboot({ isAsked: false, packages: undefined, installed, bootedAt: BOOTED_AT, own: new Set(own) })
  expect([made.status, made.message]).toEqual(
    by === undefined ? ['False', 'no package asks for a reboot'] : ['True', `the distribution asks for a reboot ${by}`],
  )
})

test.each([
  ['alone', 'linux-image-6.1.0-28-amd64\n', 'False'],
  ['beside others', 'linux-image-6.1.0-28-amd64\nlibc6\n', 'True'],
])('a kernel that the agent installed and that asks %s', (_what, packages, status) => {
  const own = new Set(['linux-image-6.1.0-28-amd64'])
  expect(judgeReboot({ isAsked: true, packages, own }).status).toBe(status)
})
