// What a node that is a folder shows of a host: its /sys, /proc, kernel log, and the programs of vendors, which print what files of its /sys say. A reboot takes /sys
// and /proc away, and the host is laid out again, sound.
import { appendFileSync, chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '#lib/system-clock.ts'
import { newAuthority } from '#lib/x509/certificates.ts'
import type { NodeLayout } from '#providers/process/layout.ts'
import { KUBELET_CERTIFICATE, RENEWED } from './played-components.ts'
import type { PlayedController } from './played-controller.ts'

const DISK = { smartctl: { exit_status: 0 }, nvme_smart_health_information_log: { critical_warning: 0 } }
/** The clock of the management controller never moves. */
const CONTROLLER_TIME = '03/14/2026 12:00:00'
/** Longer than any fault is old; shorter than the one that is played. */
const JUST_BOOTED = '5.00 1.00\n'
const LONG_UP = '3600.00 1.00\n'

const SAYS = (name: string): string => `#!/bin/sh\ncat "\${0%/*}/../../sys/says/${name}"\n`
const CONTROLLER = `#!/bin/sh\ncase "$*" in\n*sdr*) what=sdr ;;\n*elist*) what=sel ;;\n*) what=time ;;\nesac\ncat "\${0%/*}/../../sys/says/$what"\n`

const gpu = (address: string, pending = 'No', failure = 'No'): string =>
  `00000000:${address}, 0, ${pending}, ${failure}\n`

const LIFE_DAYS = 100
const DAY_MS = 86_400_000
const certificateFrom = (now: number): string => newAuthority('kubelet', { now, days: LIFE_DAYS }).certificate

export class PlayedHost {
  readonly node: NodeLayout
  readonly #controller: PlayedController
  #records = 0

  constructor(node: NodeLayout, controller: PlayedController) {
    this.node = node
    this.#controller = controller
  }

  get #name(): string {
    return basename(this.node.dir)
  }

  get root(): string {
    return this.node.root
  }

  put(path: string, text: string): void {
    const file = join(this.root, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }

  remove(path: string): void {
    rmSync(join(this.root, path), { recursive: true, force: true })
  }

  /** As the kernel logs it. */
  log(message: string): void {
    appendFileSync(join(this.root, 'dev/kmsg'), `3,${++this.#records},1000000,-;${message}\n`)
  }

  /** What a program of a vendor says from now on. */
  says(program: 'smartctl' | 'nvidia-smi' | 'sdr' | 'sel', text: string): void {
    this.put(`sys/says/${program}`, text)
  }

  gpus(...pending: readonly ['No' | 'Yes', 'No' | 'Yes'][]): void {
    this.says('nvidia-smi', pending.map(([p, f], n) => gpu(`${n}B:00.0`, p, f)).join(''))
  }

  diskWarns(): void {
    this.says('smartctl', JSON.stringify({ ...DISK, nvme_smart_health_information_log: { critical_warning: 4 } }))
  }

  /** An event of half a minute ago, since when the host runs. */
  event(sensor: string, event: string): void {
    this.put('proc/uptime', LONG_UP)
    this.says('sel', `   1 | 03/14/2026 | 11:59:30 | ${sensor} | ${event} | Asserted\n`)
  }

  /** As rasdaemon records it, now. */
  recorded(table: 'mc_event' | 'mce_record' | 'aer_event'): void {
    this.put('proc/uptime', LONG_UP)
    const file = join(this.root, 'var/lib/rasdaemon/ras-mc_event.db')
    mkdirSync(dirname(file), { recursive: true })
    const database = new DatabaseSync(file)
    const at = new Date().toISOString()
    const rows = {
      mc_event: ['err_type, label', `'Uncorrected', 'DIMM_A1'`],
      mce_record: ['status, cpu, bank_name', `-4710765210229538552, 12, 'Load store'`],
      aer_event: ['dev_name, err_type', `'0000:3b:00.0', 'Uncorrected (Fatal)'`],
    } as const
    const [columns, values] = rows[table]
    database.exec(`create table if not exists ${table} (id integer primary key, timestamp text, ${columns})`)
    database.exec(`insert into ${table} (timestamp, ${columns}) values ('${at}', ${values})`)
    database.close()
    chmodSync(file, 0o600)
  }

  /** What its management controller says over Redfish. */
  fanStops(): void {
    this.#controller.broken.add(this.#name)
  }

  /** In the last day of its life. */
  certificateAges(): void {
    this.put(KUBELET_CERTIFICATE, certificateFrom(systemClock.now() - (LIFE_DAYS - 1) * DAY_MS))
  }

  mounts(options: 'rw' | 'ro'): void {
    this.put('proc/self/mountinfo', `22 1 8:1 / / ${options},relatime - ext4 /dev/sda1 ${options}\n`)
  }

  /** Before its agent starts: a kernel that boots begins its log. The folder of the node keeps /sys for as long as it runs. */
  boot(): void {
    if (existsSync(this.node.sys)) return
    for (const path of ['dev/kmsg', 'run']) this.remove(path)
    this.put('dev/kmsg', '')
    this.layOut()
  }

  /** All that the faults of the suite are about, and nothing wrong with it. */
  layOut(): void {
    this.put('dev/ipmi0', '')
    for (const [name, script] of [
      ['smartctl', SAYS('smartctl')],
      ['nvidia-smi', SAYS('nvidia-smi')],
      ['ipmitool', CONTROLLER],
    ] as const) {
      this.put(`usr/sbin/${name}`, script)
      chmodSync(join(this.root, 'usr/sbin', name), 0o755)
    }
    this.#controller.broken.delete(this.#name)
    this.put('etc/kubenode/redfish.json', this.#controller.accessOf(this.#name))
    chmodSync(join(this.root, 'etc/kubenode/redfish.json'), 0o600)
    this.put(RENEWED, certificateFrom(systemClock.now()))
    this.put('proc/uptime', JUST_BOOTED)
    this.mounts('rw')
    this.says('smartctl', JSON.stringify(DISK))
    this.gpus(['No', 'No'], ['No', 'No'])
    this.says('sdr', 'Fan1A            | 30h | ok  | 29.1 | 8400 RPM\n')
    this.says('sel', '')
    this.put('sys/says/time', `${CONTROLLER_TIME}\n`)
    this.put('sys/devices/system/edac/mc/mc0/dimm0/dimm_ue_count', '0\n')
    this.put('sys/devices/system/edac/mc/mc0/dimm0/dimm_ce_count', '0\n')
    this.put('sys/block/nvme0n1/size', '1\n')
    this.put('sys/block/md0/md/degraded', '0\n')
    this.put('sys/class/hwmon/hwmon0/fan1_alarm', '0\n')
    this.put('sys/class/infiniband/mlx5_0/ports/1/state', '4: ACTIVE\n')
    this.put('sys/class/infiniband/mlx5_0/ports/1/counters/link_downed', '0\n')
    this.put('sys/class/fpga_manager/fpga0/state', 'operating\n')
    for (const address of ['0000:0b:00.0', '0000:1b:00.0']) {
      this.put(`sys/bus/pci/devices/${address}/class`, '0x030200\n')
      this.put(`sys/bus/pci/devices/${address}/vendor`, '0x10de\n')
      this.put(`sys/bus/pci/devices/${address}/aer_dev_fatal`, 'TOTAL_ERR_FATAL 0\n')
    }
  }
}
