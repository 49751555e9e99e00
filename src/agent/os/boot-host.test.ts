// The boot loader of a host as real files, and its programs as real programs.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { geteuid } from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { realFiles } from '../files/real.ts'
import { type BootHostDeps, realBootHost, mountOf } from './boot-host.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'boot-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const MOUNTS = [
  '21 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw',
  '30 21 253:0 / /boot rw - xfs /dev/mapper/vg-boot rw',
  '31 30 254:3 / /boot/efi rw - vfat /dev/vda3 rw',
  '32 21 254:4 / /mnt/a\\040b rw shared:1 - btrfs /dev/vda4 rw',
].join('\n')
const put = (path: string, content: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), content)
}
const proc = {
  kernel: '6.1.0-28-amd64',
  cmdline: 'BOOT_IMAGE=/vmlinuz root=/dev/vda1 ro dyndbg="file x +p"\n',
  mountinfo: MOUNTS,
}
const host = (more: Partial<BootHostDeps> = {}) => realBootHost({ files: realFiles, root, proc, ...more })

test('reads what decides what boots, and nothing else', async () => {
  put('/boot/grub/grub.cfg', 'menu')
  put('/boot/loader/entries/a.conf', 'title a')
  put('/boot/vmlinuz', 'a large file')
  const tree = await host().read()
  expect([...tree.files].map(([path, content]) => [path, content.toString()])).toEqual([
    ['/boot/grub/grub.cfg', 'menu'],
    ['/boot/loader/entries/a.conf', 'title a'],
  ])
  expect([...tree.paths].toSorted()).toEqual([...tree.files.keys()])
  expect(tree.boot).toEqual({ type: 'xfs', device: '/dev/mapper/vg-boot' })
  expect(tree.freeBytes).toBeGreaterThan(0)
  expect(tree.running.arguments).toEqual(['BOOT_IMAGE=/vmlinuz', 'root=/dev/vda1', 'ro', 'dyndbg="file x +p"'])
})

test.each([
  ['/boot/grub', 'xfs'],
  ['/boot/efi/loader', 'vfat'],
  ['/bootx', 'ext4'],
  ['/mnt/a b/c', 'btrfs'],
])('the file system of %s is %s', (path, type) => expect(mountOf(MOUNTS, path).type).toBe(type))

test('a block keeps its place on the disk, and other files are replaced whole', async () => {
  put('/boot/grub/grubenv', 'x'.repeat(1024))
  put('/boot/grub/custom.cfg', 'before')
  const inode = (path: string) => statSync(join(root, path)).ino
  const before = inode('/boot/grub/grubenv')
  await host().carryOut([
    { kind: 'WriteInPlace', path: '/boot/grub/grubenv', content: Buffer.alloc(1024, 'y') },
    { kind: 'Write', path: '/boot/grub/custom.cfg', content: Buffer.from('after') },
  ])
  expect(readFileSync(join(root, '/boot/grub/grubenv'), 'utf8')).toBe('y'.repeat(1024))
  expect(readFileSync(join(root, '/boot/grub/custom.cfg'), 'utf8')).toBe('after')
  expect(inode('/boot/grub/grubenv')).toBe(before)
  await host().carryOut([{ kind: 'Remove', path: '/boot/grub/custom.cfg' }])
  expect((await host().read()).files.has('/boot/grub/custom.cfg')).toBe(false)
})

test('an answer that is longer than its bound is none', async () => {
  const answer = ['/bin/echo', 'a long answer']
  expect([await host().query(answer, 100), await host().query(answer, 4)]).toEqual(['a long answer\n', undefined])
})

test('a block below a read-only mount is written, and the mount stays read-only', async (context) => {
  if (geteuid?.() !== 0) context.skip('mounting needs root')
  const boot = join(root, 'boot')
  mkdirSync(boot)
  execFileSync('mount', ['-t', 'tmpfs', 'none', boot])
  try {
    put('/boot/grub/grubenv', 'x'.repeat(1024))
    const before = statSync(join(boot, 'grub/grubenv')).ino
    execFileSync('mount', ['-o', 'remount,bind,ro', boot])
    const content = Buffer.from(`# it's "quoted" $1 \\ %s\n`.padEnd(1024, '#'))
    await host().carryOut([{ kind: 'WriteInPlace', path: '/boot/grub/grubenv', content }])
    expect(readFileSync(join(boot, 'grub/grubenv')).equals(content)).toBe(true)
    expect(statSync(join(boot, 'grub/grubenv')).ino).toBe(before)
    expect(() => writeFileSync(join(boot, 'new'), '')).toThrow(/EROFS/)
  } finally {
    execFileSync('umount', [boot])
  }
})

test('what a host downloads itself goes through its proxy, whose password is not shown', async () => {
  const proxy = { HTTPS_PROXY: 'http://user:secret@proxy.test:3128', NO_PROXY: 'registry.test' }
  const say = 'echo "$HTTPS_PROXY refuses, $NO_PROXY does not"; exit 1'
  const said = await host({ proxy }).change(['/bin/sh', '-c', say])
  expect(said).toMatch(/: HTTPS_PROXY refuses, registry\.test does not$/)
})

test('a program that fails says how, and a query that fails is unknown', async () => {
  expect(await host().change(['/bin/sh', '-c', 'echo no room; exit 3'])).toMatch(/3.*: no room$/)
  expect(await host().change(['/bin/true'])).toBeUndefined()
  expect([await host().query(['/bin/echo', 'a']), await host().query(['/bin/false'])]).toEqual(['a\n', undefined])
  await expect(host().carryOut([{ kind: 'Run', command: ['/bin/false', 'set-default'] }])).rejects.toThrow(
    /^KN8099: cannot change the boot loader: bootctl set-default:/,
  )
})
