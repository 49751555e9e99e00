import { describe, expect, test } from 'vitest'
import { exposition, type MetricFamily } from './exposition.ts'
import { hardwareFamilies, raidFamilies } from './hardware.ts'
import { hostFiles, type HostFiles } from './host-files.ts'
import { nodeExporterFamilies } from './node-exporter.ts'
import { securityMetrics, SETUID_EVERY_MS } from './security.ts'

function hostOf(texts: Readonly<Record<string, string>>): HostFiles {
  return {
    read: (path) => texts[path],
    list: (folder) => [
      ...new Set(
        Object.keys(texts)
          .filter((path) => path.startsWith(`${folder}/`))
          .map((path) => path.slice(folder.length + 1).split('/')[0] ?? ''),
      ),
    ],
  }
}
const samplesOf = (families: readonly MetricFamily[], name: string) => families.find((f) => f.name === name)?.samples

test('what common alert sets ask for is there under node_exporter’s names', () => {
  const families = nodeExporterFamilies(
    hostOf({
      '/proc/stat':
        'cpu  100 0 5 1\ncpu0 100 0 50 1\nintr 77 1\nctxt 5\nbtime 1700000000\nprocesses 9\nprocs_running 2\nprocs_blocked 1\n',
      '/proc/meminfo': 'MemTotal: 16 kB\nMemAvailable: 8 kB\nHugePages_Total: 3\n',
      '/proc/vmstat': 'pgmajfault 4\noom_kill 1\nunknown 9\n',
      '/proc/net/dev':
        'h\nh\n eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n veth1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n',
      '/proc/diskstats': '8 0 sda 1 2 3 4 5 6 7 8 9 10 11 0 0\n7 0 loop0 1 2 3 4 5 6 7 8 9 10 11 0 0\n',
      '/sys/class/net/eth0/operstate': 'up\n',
      '/proc/sys/net/netfilter/nf_conntrack_count': '12\n',
      '/proc/sys/net/netfilter/nf_conntrack_max': '100\n',
      '/proc/pressure/io':
        'some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n',
      '/proc/sys/fs/file-nr': '7\t0\t900\n',
    }),
    1_000,
  )
  const value = (name: string) => samplesOf(families, name)?.map((s) => s.value)
  expect(value('node_memory_MemAvailable_bytes')).toEqual([8_192])
  expect(value('node_memory_HugePages_Total')).toEqual([3])
  expect(value('node_vmstat_oom_kill')).toEqual([1])
  expect(value('node_boot_time_seconds')).toEqual([1_700_000_000])
  expect(value('node_time_seconds')).toEqual([1])
  expect(value('node_context_switches_total')).toEqual([5])
  expect(value('node_nf_conntrack_entries_limit')).toEqual([100])
  expect(value('node_filefd_maximum')).toEqual([900])
  expect(value('node_pressure_io_stalled_seconds_total')).toEqual([0.5])
  expect(samplesOf(families, 'node_cpu_seconds_total')?.slice(0, 1)).toEqual([
    { labels: { cpu: '0', mode: 'user' }, value: 1 },
  ])
  // Interfaces of pods get no series, since pods come and go; a loop device is not a disk.
  expect(samplesOf(families, 'node_network_receive_bytes_total')).toEqual([{ labels: { device: 'eth0' }, value: 1 }])
  expect(samplesOf(families, 'node_network_up')).toEqual([{ labels: { device: 'eth0' }, value: 1 }])
  expect(samplesOf(families, 'node_disk_read_bytes_total')).toEqual([{ labels: { device: 'sda' }, value: 3 * 512 }])
})

test('a host without a file has no series of it, and no family is there twice', () => {
  const empty = nodeExporterFamilies(hostOf({}), 0)
  expect(exposition(empty)).not.toContain('conntrack')
  const names = nodeExporterFamilies(hostFiles, 0).map((f) => f.name)
  expect(new Set(names).size).toBe(names.length)
})

test('this host has inodes, and its size is bounded', () => {
  const families = nodeExporterFamilies(hostFiles, 0)
  expect(samplesOf(families, 'node_filesystem_files_free')?.length).toBeGreaterThan(0)
  expect(samplesOf(families, 'node_filesystem_readonly')?.length).toBeGreaterThan(0)
})

describe('hardware', () => {
  const mc = '/sys/devices/system/edac/mc/mc0'
  const cpu = (n: number) => `/sys/devices/system/cpu/cpu${n}`
  const families = hardwareFamilies(
    hostOf({
      [`${mc}/ce_count`]: '3\n',
      [`${mc}/ue_count`]: '0\n',
      '/sys/class/hwmon/hwmon1/name': 'coretemp\n',
      '/sys/class/hwmon/hwmon1/temp1_input': '45500\n',
      '/sys/class/hwmon/hwmon1/temp1_crit': '100000\n',
      '/sys/class/thermal/thermal_zone0/temp': '40000\n',
      '/sys/class/thermal/thermal_zone0/type': 'x86_pkg_temp\n',
      [`${cpu(0)}/thermal_throttle/core_throttle_count`]: '5\n',
      [`${cpu(0)}/thermal_throttle/package_throttle_count`]: '7\n',
      [`${cpu(0)}/topology/core_id`]: '0\n',
      [`${cpu(0)}/topology/physical_package_id`]: '0\n',
      [`${cpu(1)}/thermal_throttle/core_throttle_count`]: '5\n',
      [`${cpu(1)}/thermal_throttle/package_throttle_count`]: '7\n',
      [`${cpu(1)}/topology/core_id`]: '0\n',
      [`${cpu(1)}/topology/physical_package_id`]: '0\n',
      '/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed': '2\n',
    }),
  )

  test.each([
    ['node_edac_correctable_errors_total', [{ labels: { controller: '0' }, value: 3 }]],
    ['node_hwmon_temp_celsius', [{ labels: { chip: 'coretemp_hwmon1', sensor: 'temp1' }, value: 45.5 }]],
    ['node_hwmon_temp_crit_celsius', [{ labels: { chip: 'coretemp_hwmon1', sensor: 'temp1' }, value: 100 }]],
    ['node_thermal_zone_temp', [{ labels: { zone: '0', type: 'x86_pkg_temp' }, value: 40 }]],
    // Two threads of one core share the counter.
    ['node_cpu_core_throttles_total', [{ labels: { package: '0', core: '0' }, value: 5 }]],
    ['node_cpu_package_throttles_total', [{ labels: { package: '0' }, value: 7 }]],
    ['node_infiniband_link_downed_total', [{ labels: { device: 'mlx5_0', port: '1' }, value: 2 }]],
  ])('%s', (name, samples) => {
    expect(samplesOf(families, name)).toEqual(samples)
  })

  test('a degraded array shows how many disks it lacks', () => {
    const md = raidFamilies(
      'Personalities : [raid1]\nmd0 : active raid1 sdb1[1](F) sda1[0]\n      1047552 blocks super 1.2 [2/1] [U_]\n\nunused devices: <none>\n',
    )
    expect(samplesOf(md, 'node_md_disks_required')).toEqual([{ labels: { device: 'md0' }, value: 2 }])
    expect(samplesOf(md, 'node_md_disks')).toEqual([
      { labels: { device: 'md0', state: 'active' }, value: 1 },
      { labels: { device: 'md0', state: 'failed' }, value: 1 },
    ])
  })
})

describe('security', () => {
  const tcp = (...ports: readonly string[]) =>
    `  sl  local_address rem_address   st\n${ports.map((p, n) => `   ${n}: 00000000:${p} 00000000:0000 0A 0 0\n   9: 0100007F:1F90 0100007F:9999 01 0 0`).join('\n')}\n`
  const ports = (more: Partial<Parameters<typeof securityMetrics>[0]> & { readonly listening: string }) => ({
    read: (path: string) =>
      ({
        '/proc/net/tcp': more.listening,
        '/sys/kernel/security/lockdown': 'none [integrity] confidentiality\n',
        '/sys/module/apparmor/parameters/enabled': 'Y\n',
      })[path],
    nowMs: 0,
    sizeOf: () => 384 * 4,
    setuidPrograms: () => new Map([['/usr/bin/su', '0 0 1']]),
    ...more,
  })

  test('a listener, and a setuid program, that was not there before is counted', () => {
    const first = securityMetrics(ports({ listening: tcp('0016') }), undefined)
    const one = (families: readonly MetricFamily[], name: string) => samplesOf(families, name)?.[0]?.value
    expect(one(first.families, 'kubenode_node_listening_sockets')).toBe(1)
    expect(one(first.families, 'kubenode_node_listening_sockets_new')).toBe(0)
    expect(one(first.families, 'kubenode_node_failed_logins_total')).toBe(4)
    expect(one(first.families, 'kubenode_node_apparmor_enabled')).toBe(1)
    expect(samplesOf(first.families, 'kubenode_node_kernel_lockdown')?.[0]?.labels).toEqual({ mode: 'integrity' })
    // No SELinux, no series.
    expect(samplesOf(first.families, 'kubenode_node_selinux_enforcing')).toBeUndefined()

    const later = {
      nowMs: SETUID_EVERY_MS,
      setuidPrograms: () =>
        new Map([
          ['/usr/bin/su', '0 0 2'],
          ['/usr/bin/evil', '0 0 1'],
        ]),
    }
    const second = securityMetrics(ports({ listening: tcp('0016', '1F90'), ...later }), first.history)
    expect(one(second.families, 'kubenode_node_listening_sockets_new')).toBe(1)
    expect(one(second.families, 'kubenode_node_setuid_programs_changed_total')).toBe(2)
    // Connections are read every minute at most, folders every ten minutes.
    const soon = securityMetrics(
      ports({
        listening: tcp('0016'),
        nowMs: SETUID_EVERY_MS + 60_000,
        setuidPrograms: () => {
          throw new Error('read too soon')
        },
      }),
      second.history,
    )
    expect(one(soon.families, 'kubenode_node_listening_sockets_new')).toBe(0)
    expect(one(soon.families, 'kubenode_node_setuid_programs_changed_total')).toBe(2)
  })
})
