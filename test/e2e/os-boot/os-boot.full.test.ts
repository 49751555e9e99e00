// Kernels of Debian on a whole machine under qemu: an upgrade that reboots once, a kernel that panics and is followed by the one before, and power cuts
// after each. Only the API server, permits and processes are doubles.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { generateKey } from '#api/trust/keys.ts'
import { type GuestDisk, enableUnit, makeDisk, noGuest } from './guest-disk.ts'
import { GuestMachine } from './guest-machine.ts'
import { END, HERE, type Order, PANICS, type Report } from './orders.ts'

const ROOT = join(import.meta.dirname, '../../..')
/** Software emulation boots in a minute or two, and dpkg builds an initial file system as slowly. */
const STEP_MS = 20 * 60_000
const UNIT = `[Unit]
After=basic.target
[Service]
ExecStart=${HERE}/node ${HERE}/guest.mjs
StandardOutput=journal+console
StandardError=journal+console
[Install]
WantedBy=multi-user.target
`
const why = noGuest()

async function putOrders(root: string, orders: readonly Order[]): Promise<void> {
  const here = join(root, HERE)
  const input = join(import.meta.dirname, 'guest.ts')
  const bundle = await rolldown({ cwd: ROOT, input, platform: 'node', logLevel: 'silent' })
  await bundle.write({ file: join(here, 'guest.mjs'), format: 'esm', codeSplitting: false })
  await bundle.close()
  writeFileSync(join(here, 'key.pem'), generateKey().pem)
  writeFileSync(join(here, 'orders.json'), JSON.stringify(orders))
  enableUnit(root, 'os-boot.service', UNIT)
}

describe.skipIf(why !== undefined)(
  `kernels on a machine under qemu${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const folder = mkdtempSync('/var/tmp/kn-os-boot-')
    let disk: GuestDisk
    let other = ''
    let guest: GuestMachine | undefined

    const reports = (): readonly Report[] =>
      (guest?.reports ?? '')
        .split('\n')
        .flatMap((line) =>
          line.trim().startsWith('{') && line.trim().endsWith('}') ? [JSON.parse(line) as Report] : [],
        )

    /** Boots after a power cut, and cuts the power again when the guest has reported this order. */
    async function powered(order: string): Promise<Report> {
      guest?.start()
      const found = () => reports().find((r) => r.order === order && r.problem === undefined)
      const until = Date.now() + STEP_MS
      const isOver = () => found() !== undefined || guest?.isOn !== true || Date.now() > until
      while (!isOver()) await sleep(500)
      await guest?.cutPower()
      const report = found()
      if (report !== undefined) return report
      throw new Error(`no report of ${order}: ${JSON.stringify(reports().slice(-2))}; ${guest?.console.slice(-2_000)}`)
    }

    beforeAll(async () => {
      disk = await makeDisk(folder, async (furnishing) => {
        other = furnishing.other.release
        const path = `${HERE}/${basename(furnishing.other.file)}`
        const [os, packages] = [{ kernel: other }, [path]]
        cpSync(furnishing.other.file, join(furnishing.root, path))
        await putOrders(furnishing.root, [
          { version: 'upgrade', os, packages },
          { version: 'panics', os: { ...os, bootArguments: PANICS }, packages },
          { version: 'arguments', os: { ...os, bootArguments: ['mitigations=off'] }, packages },
        ])
      })
      guest = new GuestMachine(folder, disk)
      await guest.setUp()
    }, STEP_MS)

    afterAll(async () => {
      await guest?.cutPower()
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
        expect(guest?.panics).toBe(1)
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
        expect(guest?.panics).toBe(1)
      },
      STEP_MS,
    )
  },
)
