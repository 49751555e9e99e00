// Hardware metrics under node_exporter's names: temperatures, memory errors, throttling, RAID and InfiniBand, as far as the host has them. Pure.
import type { MetricFamily, Sample } from './exposition.ts'
import { type HostFiles, type ListFolder, numberIn, partsIn, type ReadText } from './host-files.ts'

/** Sensors, controllers, arrays or ports: more than any known host has. */
const MOST = 256
const MILLI = 1_000

export function hardwareFamilies({ read, list }: HostFiles): readonly MetricFamily[] {
  return [
    ...thermalFamilies(read, list),
    ...hwmonFamilies(read, list),
    ...edacFamilies(read, list),
    ...throttleFamilies(read, list),
    ...raidFamilies(read('/proc/mdstat') ?? ''),
    ...infinibandFamilies(read, list),
  ]
}

const family = (type: MetricFamily['type'], name: string, samples: readonly Sample[]): MetricFamily => ({
  name,
  help: `As node_exporter's ${name}.`,
  type,
  samples,
})

const below = (list: ListFolder, folder: string, pattern: RegExp): readonly string[] =>
  partsIn(list, folder, pattern, MOST)

/** One sample per file that contains a number. */
function samples(
  read: ReadText,
  entries: readonly { readonly path: string; readonly labels: Readonly<Record<string, string>> }[],
  scale = 1,
): readonly Sample[] {
  return entries.flatMap(({ path, labels }) => {
    const value = numberIn(read, path)
    return value === undefined ? [] : [{ labels, value: value / scale }]
  })
}

function thermalFamilies(read: ReadText, list: ListFolder): readonly MetricFamily[] {
  const folder = '/sys/class/thermal'
  const zones = below(list, folder, /^thermal_zone\d+$/).map((zone) => ({
    path: `${folder}/${zone}/temp`,
    labels: { zone: zone.slice('thermal_zone'.length), type: (read(`${folder}/${zone}/type`) ?? '').trim() },
  }))
  return [family('gauge', 'node_thermal_zone_temp', samples(read, zones, MILLI))]
}

function hwmonFamilies(read: ReadText, list: ListFolder): readonly MetricFamily[] {
  const folder = '/sys/class/hwmon'
  const sensors = below(list, folder, /^hwmon\d+$/).flatMap((chip) =>
    below(list, `${folder}/${chip}`, /^temp\d+_(input|crit)$/).map((file) => {
      const [sensor = '', what = ''] = file.split('_')
      const name = (read(`${folder}/${chip}/name`) ?? chip).trim()
      return { what, path: `${folder}/${chip}/${file}`, labels: { chip: `${name}_${chip}`, sensor } }
    }),
  )
  const of = (what: string) => samples(read, sensors.filter((s) => s.what === what).slice(0, MOST), MILLI)
  return [
    family('gauge', 'node_hwmon_temp_celsius', of('input')),
    family('gauge', 'node_hwmon_temp_crit_celsius', of('crit')),
  ]
}

function edacFamilies(read: ReadText, list: ListFolder): readonly MetricFamily[] {
  const folder = '/sys/devices/system/edac/mc'
  const of = (file: string) =>
    samples(
      read,
      below(list, folder, /^mc\d+$/).map((mc) => ({
        path: `${folder}/${mc}/${file}`,
        labels: { controller: mc.slice('mc'.length) },
      })),
    )
  return [
    family('counter', 'node_edac_correctable_errors_total', of('ce_count')),
    family('counter', 'node_edac_uncorrectable_errors_total', of('ue_count')),
  ]
}

/** Threads of one core, and cores of one package, share a counter. */
function throttleFamilies(read: ReadText, list: ListFolder): readonly MetricFamily[] {
  const folder = '/sys/devices/system/cpu'
  const [cores, packages] = [new Map<string, Sample>(), new Map<string, Sample>()]
  for (const cpu of below(list, folder, /^cpu\d+$/)) {
    const core = numberIn(read, `${folder}/${cpu}/thermal_throttle/core_throttle_count`)
    if (core === undefined) continue
    const number = (file: string): string => String(numberIn(read, `${folder}/${cpu}/topology/${file}`) ?? 0)
    const labels = { package: number('physical_package_id'), core: number('core_id') }
    cores.set(`${labels.package} ${labels.core}`, { labels, value: core })
    const value = numberIn(read, `${folder}/${cpu}/thermal_throttle/package_throttle_count`) ?? 0
    packages.set(labels.package, { labels: { package: labels.package }, value })
  }
  return [
    family('counter', 'node_cpu_core_throttles_total', [...cores.values()]),
    family('counter', 'node_cpu_package_throttles_total', [...packages.values()]),
  ]
}

/** "md0 : active raid1 sdb1[1] sda1[0](F)", then "      1047552 blocks super 1.2 [2/1] [U_]". */
export function raidFamilies(mdstat: string): readonly MetricFamily[] {
  const required: Sample[] = []
  const disks: Sample[] = []
  const states: Sample[] = []
  const lines = mdstat.split('\n')
  lines.forEach((line, n) => {
    const [, device, state, members] = /^(md\S*) : (active|inactive)(.*)$/.exec(line) ?? []
    if (device === undefined || required.length >= MOST) return
    const [, wanted, working] = /\[(\d+)\/(\d+)\]/.exec(lines[n + 1] ?? '') ?? []
    const failed = members?.match(/\(F\)/g)?.length ?? 0
    states.push({ labels: { device, state: state ?? '' }, value: 1 })
    if (wanted === undefined) return
    required.push({ labels: { device }, value: Number(wanted) })
    disks.push({ labels: { device, state: 'active' }, value: Number(working) })
    disks.push({ labels: { device, state: 'failed' }, value: failed })
  })
  return [
    family('gauge', 'node_md_state', states),
    family('gauge', 'node_md_disks_required', required),
    family('gauge', 'node_md_disks', disks),
  ]
}

/** Counter file of a port → node_exporter's name. */
const INFINIBAND: Readonly<Record<string, string>> = {
  link_downed: 'node_infiniband_link_downed_total',
  link_error_recovery: 'node_infiniband_link_error_recovery_total',
  symbol_error: 'node_infiniband_symbol_error_total',
  port_rcv_errors: 'node_infiniband_port_errors_received_total',
}

function infinibandFamilies(read: ReadText, list: ListFolder): readonly MetricFamily[] {
  const folder = '/sys/class/infiniband'
  const ports = below(list, folder, /^[A-Za-z0-9_.-]+$/).flatMap((device) =>
    below(list, `${folder}/${device}/ports`, /^\d+$/).map((port) => ({ device, port })),
  )
  return Object.entries(INFINIBAND).map(([file, name]) =>
    family(
      'counter',
      name,
      samples(
        read,
        ports.map((labels) => ({
          path: `${folder}/${labels.device}/ports/${labels.port}/counters/${file}`,
          labels,
        })),
      ),
    ),
  )
}
