// What a host says of its operating system: os-release and the boot arguments.
import { describe, expect, test } from 'vitest'
import { bootArguments } from './boot-arguments.ts'
import { parseOsRelease } from './os-release.ts'

describe('os-release', () => {
  test.each([
    [
      'of Debian',
      'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\n',
      { id: 'debian', like: [], version: '12', name: 'Debian GNU/Linux 12 (bookworm)' },
    ],
    [
      'of Rocky, with what it is made from',
      'NAME="Rocky Linux"\nVERSION_ID="9.4"\nID="rocky"\nID_LIKE="rhel centos fedora"\n',
      { id: 'rocky', like: ['rhel', 'centos', 'fedora'], version: '9.4', name: 'rocky' },
    ],
    ['of a rolling release', "ID='arch'\r\nPRETTY_NAME='Arch Linux'\r\n", { id: 'arch', like: [], name: 'Arch Linux' }],
    ['without an ID', 'NAME=Linux\n', undefined],
    ['with an ID that is no word', 'ID="$(reboot)"\n', undefined],
    ['that is binary', '\u0000\u0001\u0002', undefined],
  ])('%s', (_what, text, read) => expect(parseOsRelease(text)).toEqual(read))
})

describe('boot arguments', () => {
  const line =
    'BOOT_IMAGE=/vmlinuz-6.1 root=UUID=1 ro quiet hugepagesz=1G hugepages=4 rd.luks.key=hunter2 mitigations=off -- mitigations=auto'

  test('are reported by a fixed list, in their order, up to the first program', () =>
    expect(bootArguments(line).named).toEqual(['hugepagesz=1G', 'hugepages=4', 'mitigations=off']))

  test('a secret reaches neither the list nor the digest', () =>
    expect(bootArguments(line.replace('hunter2', 'other'))).toEqual(bootArguments(line)))

  test('the digest is equal on machines that differ in disk and kernel file only', () =>
    expect(bootArguments(line.replace('UUID=1', 'UUID=2').replace('6.1', '6.12')).digest).toBe(
      bootArguments(line).digest,
    ))

  test('the digest differs by a value that is reported, and by a name that is not', () => {
    const digests = [line, line.replace('=off', '=auto'), `nosecret ${line}`].map((l) => bootArguments(l).digest)
    expect(new Set(digests).size).toBe(3)
  })

  test('are bounded', () => {
    const { named } = bootArguments(`isolcpus=${'1,'.repeat(500)} ${'hugepages=1 '.repeat(200)}`)
    expect(named.length).toBe(32)
    expect(Math.max(...named.map((a) => a.length))).toBe(128)
  })

  test('quotes keep spaces in one argument', () =>
    expect(bootArguments('"lsm=a b" dyndbg="file x +p" security="x y"').named).toEqual(['security="x y"']))
})
