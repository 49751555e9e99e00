// Kernels of Debian on a whole machine under qemu: an upgrade that reboots once, a kernel that panics and is followed by the one before, and power cuts
// after each. Only the API server, permits and processes are doubles.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type GuestDisk, makeDisk, noGuest } from './guest-disk.ts'
import { END, type Report } from './orders.ts'

/** Software emulation boots in a minute or two, and dpkg builds an initial file system as slowly. */
const STEP_MS = 20 * 60_000
/** Without the initial file system there is no driver for the disk. */
const PANICS = ['initcall_blacklist=populate_rootfs', 'panic=1']
const why = noGuest()

describe.skipIf(why !== undefined)(
  `kernels on a machine under qemu${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const folder = mkdtempSync('/var/tmp/kn-os-boot-')
    const reportsFile = join(folder, 'reports')
    let disk: GuestDisk
    let other = ''
    let guest: ChildProcess | undefined

    const line = (id: string) => [
      '-chardev',
      `file,id=${id},path=${join(folder, id)},append=on`,
      '-serial',
      `chardev:${id}`,
    ]
    const qemu = (...more: readonly string[]): ChildProcess =>
      spawn(
        'qemu-system-x86_64',
        [
          '-accel tcg -cpu max -m 1024 -smp 2 -display none -nic none'.split(' '),
          ['-drive', `file=${disk.path},format=raw,if=virtio,cache=writeback`],
          line('console'),
          line('reports'),
          more,
        ].flat(),
        { stdio: 'inherit' },
      )
    const reports = (): readonly Report[] =>
      existsSync(reportsFile)
        ? readFileSync(reportsFile, 'utf8')
            .split('\n')
            .flatMap((line) =>
              line.trim().startsWith('{') && line.trim().endsWith('}') ? [JSON.parse(line) as Report] : [],
            )
        : []
    const panics = () => readFileSync(join(folder, 'console'), 'utf8').split('] Kernel panic').length - 1

    /** Boots after a power cut, and cuts the power again when the guest has reported this order. */
    async function powered(order: string): Promise<Report> {
      const running = qemu()
      guest = running
      const ended = once(running, 'exit')
      const found = () => reports().find((r) => r.order === order && r.problem === undefined)
      for (
        const until = Date.now() + STEP_MS;
        Date.now() < until && running.exitCode === null && running.signalCode === null;
        await sleep(500)
      )
        if (found() !== undefined) running.kill('SIGKILL')
      running.kill('SIGKILL')
      await ended
      const report = found()
      if (report !== undefined) return report
      const console = readFileSync(join(folder, 'console'), 'utf8').slice(-2_000)
      throw new Error(`no report of ${order}: ${JSON.stringify(reports().slice(-2))}; ${console}`)
    }

    beforeAll(async () => {
      disk = await makeDisk(folder, (_, newer) => {
        other = newer.release
        const [os, packages] = [{ kernel: newer.release }, [newer.path]]
        return [
          { version: 'upgrade', os, packages },
          { version: 'panics', os: { ...os, bootArguments: PANICS }, packages },
          { version: 'arguments', os: { ...os, bootArguments: ['mitigations=off'] }, packages },
        ]
      })
      const first = `root=/dev/vda1 ro console=ttyS0 init=/kubenode/setup`
      guest = qemu('-kernel', disk.kernel, '-initrd', disk.initrd, '-append', first, '-no-reboot')
      await once(guest, 'exit')
    }, STEP_MS)

    afterAll(() => {
      guest?.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    })

    test(
      'an upgrade boots the other kernel, and keeps it over a power cut',
      async () => {
        const report = await powered('upgrade')
        expect(report).toMatchObject({ state: 'Healthy', current: 'upgrade', kernel: other })
        expect(report.kernels).toEqual(expect.arrayContaining([`linux-image-${other}`, `linux-image-${disk.release}`]))
        expect(report.environment?.join()).toMatch(/saved_entry=kubenode-[0-9a-f]{16}-0/)
        expect(report.cmdline).toMatch(/ panic=30 kubenode\.boot=/)
      },
      STEP_MS,
    )

    test(
      'a kernel that panics is followed by the one before, without anybody',
      async () => {
        const report = await powered('panics')
        expect(panics()).toBe(1)
        expect(report).toMatchObject({ state: 'RolledBack', current: 'upgrade', kernel: other })
        expect(report.message).toMatch(/^KN8098: cannot keep kernel panics: the machine returned from its reboot/)
        expect(report.cmdline).not.toMatch(/initcall_blacklist/)
        expect(report.environment?.join()).not.toMatch(/next_entry=kubenode/)
      },
      STEP_MS,
    )

    test(
      'boot arguments are in force after one more reboot, and at the boot after a power cut',
      async () => {
        expect(await powered('arguments')).toMatchObject({ state: 'Healthy', current: 'arguments', kernel: other })
        const { cmdline } = await powered(END)
        expect(cmdline).toMatch(/ mitigations=off panic=30 kubenode\.boot=/)
        expect(panics()).toBe(1)
      },
      STEP_MS,
    )
  },
)
