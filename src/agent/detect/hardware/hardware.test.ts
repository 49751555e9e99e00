import { describe, expect, test } from 'vitest'
import { DETECTOR_DEFAULTS } from '#api/agent-config/detector-settings.ts'
import { hostOf } from '#test/doubles/node/host-of-files.ts'
import type { Reading } from '../builtin/reading.ts'
import { judgeThrottling, throttleCounts } from './cpu.ts'
import { diskHealth, disks, judgeDiskHealth } from './disk-health.ts'
import { firmwareParts, judgeFirmware } from './firmware.ts'
import { gpusIn, judgeGpus } from './gpu.ts'
import { grown, watchCounts, type Watched } from './growth.ts'
import { judgeTables, kernelTables } from './kernel-limits.ts'
import { judgeLinks, links, linksBefore, NO_LINKS } from './links.ts'
import { judgeMemory, memoryErrors } from './memory.ts'
import { MountQuestions, mountsToAsk } from './mounts.ts'
import { judgePcie, mostLanes, pcieDevices } from './pcie.ts'
import { controllerAlarms, judgeSensors, sensorAlarms } from './sensors.ts'
import { judgeStorage } from './storage.ts'

const NONE = new Map<string, number>()
const HOUR_S = 3_600
const findings = (readings: readonly Reading[]) =>
  readings.flatMap(({ type, status, message }) => (status === 'True' ? [`${type}: ${message}`] : []))

describe('growth of counters', () => {
  const at = (seen: readonly (readonly [number, number])[], windowMs: number): number | undefined => {
    let watched: Watched = []
    for (const [ms, count] of seen) watched = watchCounts(watched, new Map([['x', count]]), ms, windowMs)
    return grown(watched).get('x')
  }

  test('counts what came within the window, not what was there before', () => {
    expect(at([[0, 7]], 100)).toBe(0)
    expect(
      at(
        [
          [0, 7],
          [50, 9],
        ],
        100,
      ),
    ).toBe(2)
    expect(
      at(
        [
          [0, 7],
          [50, 9],
          [140, 10],
        ],
        100,
      ),
    ).toBe(1)
  })

  test('a driver that was loaded again counts from zero', () => {
    expect(
      at(
        [
          [0, 900],
          [50, 3],
        ],
        100,
      ),
    ).toBe(3)
  })

  test('a part that was plugged in has not grown', () => {
    const first = watchCounts([], new Map(), 0, 100)
    expect(grown(watchCounts(first, new Map([['new', 5]]), 1, 100)).get('new')).toBe(0)
  })

  test('memory is bounded, however short the time between looks', () => {
    let watched: Watched = []
    for (let ms = 0; ms < 10_000; ms++) watched = watchCounts(watched, NONE, ms, 1_000_000)
    expect(watched.length).toBeLessThan(200)
  })
})

describe('memory', () => {
  const settings = DETECTOR_DEFAULTS.memory
  const mc = '/sys/devices/system/edac/mc/mc0'
  const look = (files: Record<string, string>, lastHour = NONE, uptimeS = HOUR_S) =>
    findings(judgeMemory(memoryErrors(hostOf(files)), lastHour, uptimeS, settings))

  test('an uncorrectable error is a fault, named by its module', () => {
    expect(
      look({
        [`${mc}/dimm3/dimm_label`]: 'CPU_SrcID#0_MC#0_Chan#1_DIMM#0\n',
        [`${mc}/dimm3/dimm_ce_count`]: '4\n',
        [`${mc}/dimm3/dimm_ue_count`]: '1\n',
      }),
    ).toEqual(['MemoryFaulty: CPU_SrcID#0_MC#0_Chan#1_DIMM#0: uncorrectable memory errors'])
  })

  test('pages that the kernel took out of use are a fault', () => {
    expect(look({ '/proc/meminfo': 'MemTotal: 1 kB\nHardwareCorrupted:     8 kB\n' })).toEqual([
      'MemoryFaulty: the kernel took corrupted pages out of use',
    ])
    expect(look({ '/proc/meminfo': 'HardwareCorrupted:     0 kB\n' })).toEqual([])
  })

  test('many corrected errors in an hour, or a drip for days', () => {
    const drip = { [`${mc}/dimm0/dimm_ce_count`]: '1000\n' }
    expect(look(drip, new Map([['mc0 dimm0', 101]]))).toEqual([
      'MemoryDegraded: mc0 dimm0: more than 100 corrected errors in an hour',
    ])
    expect(look(drip, new Map([['mc0 dimm0', 100]]))).toEqual([])
    expect(look(drip, NONE, 80 * HOUR_S)).toEqual([
      'MemoryDegraded: mc0 dimm0: more than 10 corrected errors an hour for days',
    ])
    expect(look(drip, NONE, 200 * HOUR_S)).toEqual([])
  })

  test('a driver without modules counts by controller', () => {
    expect(look({ [`${mc}/ue_count`]: '2\n', [`${mc}/ce_count`]: '0\n' })).toEqual([
      'MemoryFaulty: mc0: uncorrectable memory errors',
    ])
  })

  test('a label of firmware does not control a terminal', () => {
    const [said = ''] = look({ [`${mc}/dimm0/dimm_label`]: 'A\u001b[31m\u202e', [`${mc}/dimm0/dimm_ue_count`]: '1' })
    expect(said).toMatch(/^[ -~\ufffd]+$/)
  })
})

test('a processor throttled for heat all the time, by package', () => {
  const cpu = '/sys/devices/system/cpu'
  const host = hostOf({
    [`${cpu}/cpu0/thermal_throttle/package_throttle_count`]: '5',
    [`${cpu}/cpu0/topology/physical_package_id`]: '1',
    [`${cpu}/cpufreq/x`]: '1',
  })
  expect([...throttleCounts(host)]).toEqual([['package 1', 5]])
  const look = (n: number) => findings(judgeThrottling(new Map([['package 1', n]]), DETECTOR_DEFAULTS.throttling))
  expect(look(10_000)).toEqual([])
  expect(look(10_001)).toEqual(['CPUThrottled: package 1: throttled for heat more than 1000 times a minute'])
})

describe('PCIe', () => {
  const device = '/sys/bus/pci/devices/0000:3b:00.0'
  const look = (files: Record<string, string>, before = NONE) => {
    const devices = pcieDevices(hostOf(files))
    return findings(judgePcie(devices, mostLanes(before, devices)))
  }

  test('fatal errors; corrected ones are none', () => {
    expect(look({ [`${device}/aer_dev_fatal`]: 'Undefined 0\nDLP 1\nTOTAL_ERR_FATAL 1\n' })).toEqual([
      'PCIeFaulty: 0000:3b:00.0: fatal PCIe errors since boot',
    ])
    expect(
      look({
        [`${device}/aer_dev_fatal`]: 'TOTAL_ERR_FATAL 0\n',
        [`${device}/aer_dev_correctable`]: 'TOTAL_ERR_COR 9\n',
      }),
    ).toEqual([])
  })

  test('lanes that were there before; a narrow slot is none', () => {
    const narrow = { [`${device}/current_link_width`]: '4\n', [`${device}/max_link_width`]: '16\n' }
    expect(look(narrow)).toEqual([])
    expect(look(narrow, new Map([['0000:3b:00.0', 16]]))).toEqual([
      'PCIeFaulty: 0000:3b:00.0: 4 PCIe lanes instead of 16',
    ])
  })
})

test('arrays, paths and ext4 file systems with errors', () => {
  const block = '/sys/block'
  expect(
    findings(
      judgeStorage(
        hostOf({
          [`${block}/md0/md/degraded`]: '1\n',
          [`${block}/md1/md/degraded`]: '0\n',
          [`${block}/dm-2/dm/uuid`]: 'mpath-3600a\n',
          [`${block}/dm-2/dm/name`]: 'data\n',
          [`${block}/dm-2/slaves/sda/x`]: '',
          [`${block}/dm-2/slaves/sdb/x`]: '',
          [`${block}/sda/device/state`]: 'running\n',
          [`${block}/sdb/device/state`]: 'offline\n',
          [`${block}/dm-3/dm/uuid`]: 'LVM-abc\n',
          [`${block}/dm-3/slaves/sdb/x`]: '',
          '/sys/fs/ext4/sda1/errors_count': '3\n',
          '/sys/fs/ext4/sda2/errors_count': '0\n',
        }),
      ),
    ),
  ).toEqual([
    'StorageDegraded: md0: 1 disk of the array missing or rebuilding; data: 1 of 2 paths lost',
    'FilesystemErrors: sda1: the kernel found errors in its ext4; check it with fsck',
  ])
})

describe('links', () => {
  const settings = DETECTOR_DEFAULTS.links
  const port = '/sys/class/infiniband/mlx5_0/ports/1'
  const judge = (files: Record<string, string>, upBefore: readonly string[] = [], grew: Record<string, number> = {}) =>
    findings(
      judgeLinks(
        links(hostOf(files)),
        { up: new Set(upBefore), mtus: new Map([['eth0', 9_000]]) },
        new Map(Object.entries(grew)),
        settings,
      ),
    )

  test('an InfiniBand port that was up and is down; one that never was is not cabled', () => {
    const down = { [`${port}/state`]: '1: DOWN\n' }
    expect(judge(down)).toEqual([])
    expect(judge(down, ['mlx5_0/1'])).toEqual(['LinkFaulty: mlx5_0/1: down, and was up'])
    const up = links(hostOf({ [`${port}/state`]: '4: ACTIVE\n' }))
    expect([...linksBefore(NO_LINKS, up).up]).toEqual(['mlx5_0/1'])
  })

  test.each([
    ['link_downed', 1, 'LinkFaulty: mlx5_0/1: link_downed grew'],
    ['symbol_error', 21, 'LinkFaulty: mlx5_0/1: more than 120 symbol errors an hour'],
    ['link_error_recovery', 51, 'LinkDegraded: mlx5_0/1: recovers more than 5 times a minute'],
    ['port_rcv_errors', 6_001, 'LinkDegraded: mlx5_0/1: more than 10 receive errors a second'],
  ])('%s', (counter, n, says) => {
    const up = { [`${port}/state`]: '4: ACTIVE' }
    expect(judge(up, [], { [`mlx5_0/1 ${counter}`]: n })).toEqual([says])
    expect(judge(up, [], { [`mlx5_0/1 ${counter}`]: n - 1 })).toEqual([])
  })

  test('Ethernet that flaps or has bad frames, and a bond without a member', () => {
    const net = '/sys/class/net'
    const files = {
      [`${net}/eth0/device/vendor`]: '0x15b3',
      [`${net}/eth0/carrier`]: '1\n',
      [`${net}/eth0/flags`]: '0x1003\n',
      [`${net}/bond0/flags`]: '0x1403\n',
      [`${net}/veth9/carrier_changes`]: '900\n',
      [`${net}/bond0/bonding/slaves`]: 'eth0 eth1\n',
      [`${net}/eth1/bonding_slave/mii_status`]: 'down\n',
      [`${net}/eth0/bonding_slave/mii_status`]: 'up\n',
    }
    expect(judge(files, [], { 'eth0 carrier_changes': 11, 'veth9 carrier_changes': 900 })).toEqual([
      'LinkDegraded: bond0: runs without eth1; eth0: went up and down more than 10 times',
    ])
  })

  test('a bond that was set down on purpose is no fault, and neither are its members', () => {
    const net = '/sys/class/net'
    // The kernel refuses to read the carrier then.
    const files = {
      [`${net}/bond0/bonding/slaves`]: 'eth0 eth1\n',
      [`${net}/bond0/flags`]: '0x1402\n',
      [`${net}/eth0/bonding_slave/mii_status`]: 'down\n',
    }
    expect(judge(files, ['bond0'])).toEqual([])
  })

  test('a whole bond that is down, and packets that have to be smaller than before', () => {
    const net = '/sys/class/net'
    const bond = {
      [`${net}/bond0/bonding/slaves`]: 'eth0 eth1\n',
      [`${net}/bond0/carrier`]: '0\n',
      [`${net}/bond0/flags`]: '0x1403\n',
    }
    expect(judge(bond, ['bond0'])).toEqual(['LinkFaulty: bond0: down, and was up'])
    expect(judge(bond)).toEqual([])
    const empty = { ...bond, [`${net}/bond0/bonding/slaves`]: '\n' }
    expect(judge(empty, ['bond0'])).toEqual(['LinkFaulty: bond0: down, and was up'])
    const port = (mtu: number) => ({ [`${net}/eth0/device/vendor`]: '0x15b3', [`${net}/eth0/mtu`]: `${mtu}\n` })
    expect(judge(port(1_500))).toEqual(['LinkDegraded: eth0: MTU 1500 instead of 9000'])
    expect(judge(port(9_000))).toEqual([])
    expect([
      ...linksBefore({ up: new Set(), mtus: new Map([['eth0', 9_000]]) }, links(hostOf(port(1_500)))).mtus,
    ]).toEqual([['eth0', 9_000]])
  })
})

test('tables of the kernel: full, and over only with clearly more room', () => {
  const tables = (used: number, most: number) =>
    kernelTables(
      hostOf({
        '/proc/sys/net/netfilter/nf_conntrack_count': `${used}\n`,
        '/proc/sys/net/netfilter/nf_conntrack_max': `${most}\n`,
        '/proc/loadavg': '0.1 0.2 0.3 2/950 4242\n',
        '/proc/sys/kernel/pid_max': '1000\n',
        '/proc/sys/kernel/threads-max': '190000\n',
        '/proc/sys/fs/file-nr': '9500\t0\t10000\n',
      }),
    )
  const look = (used: number, isTrue = false) =>
    judgeTables(tables(used, 100), DETECTOR_DEFAULTS.kernelLimits, () => isTrue).map((r) => `${r.type} ${r.status}`)
  expect(look(90)).toEqual(['ConntrackFull False', 'ProcessLimitNear True', 'OpenFileLimitNear True'])
  expect(look(91)[0]).toBe('ConntrackFull True')
  expect(look(86, true)[0]).toBe('ConntrackFull True')
  expect(look(85, true)[0]).toBe('ConntrackFull False')
  const pods = (most: string) =>
    kernelTables(
      hostOf({
        '/proc/loadavg': '0.1 0.2 0.3 2/10 4242\n',
        '/proc/sys/kernel/pid_max': '1000\n',
        '/sys/fs/cgroup/kubepods.slice/pids.current': '95\n',
        '/sys/fs/cgroup/kubepods.slice/pids.max': most,
      }),
    )
  expect(findings(judgeTables(pods('100\n'), DETECTOR_DEFAULTS.kernelLimits, () => false))).toEqual([
    'ProcessLimitNear: more than 90 % of the 100 processes of kubepods.slice (pids.max) are in use',
  ])
  expect(findings(judgeTables(pods('max\n'), DETECTOR_DEFAULTS.kernelLimits, () => false))).toEqual([])
  // Without the module nothing is said about it.
  expect(judgeTables(kernelTables(hostOf({})), DETECTOR_DEFAULTS.kernelLimits, () => false)).toEqual([])
})

test('firmware of a version that the fleet does not allow, by model', () => {
  const nvme = '/sys/class/nvme'
  const parts = firmwareParts(
    hostOf({
      '/sys/class/dmi/id/product_name': 'PowerEdge R760\n',
      '/sys/class/dmi/id/bios_version': '1.3.2\n',
      '/sys/devices/system/cpu/cpu0/microcode/version': '0x2b0004d0\n',
      '/proc/cpuinfo': 'processor\t: 0\nmodel name\t: Xeon 8480\n',
      [`${nvme}/nvme0/model`]: 'SAMSUNG MZQL23T8HCLS  \n',
      [`${nvme}/nvme0/firmware_rev`]: 'GDC5602Q\n',
      [`${nvme}/nvme1/model`]: 'Other\n',
      [`${nvme}/nvme1/firmware_rev`]: 'X\u001b[31m\n',
      '/sys/class/infiniband/mlx5_0/board_id': 'MT_0000000838\n',
      '/sys/class/infiniband/mlx5_0/fw_ver': '28.39.1002\n',
      '/proc/driver/nvidia/gpus/0000:3b:00.0/information': 'Model: \t\t NVIDIA H100\nVideo BIOS: \t 96.00.61\n',
      '/sys/module/nvidia/version': '550.54.15\n',
    }),
  )
  expect(findings(judgeFirmware(parts, []))).toEqual([])
  expect(
    findings(judgeFirmware(parts, ['nvme SAMSUNG MZQL2*=GDC5602Q|GDC5902Q', 'bios PowerEdge R760=1.3.2'])),
  ).toEqual([])
  expect(
    findings(
      judgeFirmware(parts, [
        'nvme SAMSUNG MZQL2*=GDC5902Q',
        'gpu NVIDIA H100=96.00.74',
        'gpu-driver nvidia=560.1|560.2',
        'microcode Xeon*=0x2b0004d0',
      ]),
    ),
  ).toEqual([
    'FirmwareNotAllowed: nvme0 (SAMSUNG MZQL23T8HCLS): nvme GDC5602Q, allowed: GDC5902Q; 0000:3b:00.0 (NVIDIA H100): gpu 96.00.61, allowed: 96.00.74; driver (nvidia): gpu-driver 550.54.15, allowed: 560.1, 560.2',
  ])
  const [hostile] = judgeFirmware(parts, ['nvme Other=1'])
  expect(hostile?.message).toMatch(/^[ -~\ufffd]+$/)
})

test('alarms of sensors and of the management controller', () => {
  const chip = '/sys/class/hwmon/hwmon3'
  const alarms = sensorAlarms(
    hostOf({
      [`${chip}/name`]: 'nct6775\n',
      [`${chip}/fan2_alarm`]: '1\n',
      [`${chip}/fan2_label`]: 'rear\n',
      [`${chip}/fan1_alarm`]: '0\n',
      [`${chip}/temp1_max_alarm`]: '1\n',
      [`${chip}/temp1_crit_alarm`]: '1\n',
    }),
  )
  expect(alarms).toEqual(['nct6775 rear: alarm', 'nct6775 temp1: crit alarm'])
  const sdr = [
    'PS1 Status       | C8h | ok  | 10.1 | Presence detected, Power Supply AC lost',
    'PS2 Status       | C9h | ok  | 10.2 | Presence detected',
    'Fan1A            | 30h | cr  | 29.1 | 0 RPM',
    'Temp             | 0Eh | ok  |  3.1 | 41 degrees C',
    'not a sensor',
  ].join('\n')
  expect(controllerAlarms(sdr)).toEqual(['PS1 Status: Presence detected, Power Supply AC lost', 'Fan1A: 0 RPM'])
  expect(findings(judgeSensors(controllerAlarms(sdr)))).toEqual([
    'HardwareAlarm: PS1 Status: Presence detected, Power Supply AC lost; Fan1A: outside its limits',
  ])
})

describe('health of disks', () => {
  const settings = DETECTOR_DEFAULTS.diskHealth
  const look = (value: object, grew = 0) => {
    const health = diskHealth('sda', JSON.stringify({ smartctl: { exit_status: 0 }, ...value }))
    return health === undefined ? undefined : findings(judgeDiskHealth([health], new Map([['sda', grew]]), settings))
  }
  const passed = { smart_status: { passed: true } }

  test.each([
    ['a disk that passes', passed, 0, []],
    [
      'one that fails its own check',
      { smart_status: { passed: false } },
      0,
      ['DiskFailing: sda: its own check failed'],
    ],
    [
      'one that predicts its failure',
      { ...passed, smartctl: { exit_status: 16 } },
      0,
      ['DiskFailing: sda: an attribute that predicts failure is below its threshold'],
    ],
    // Old errors, and a self-test of last year.
    ['one with errors in its log', { ...passed, smartctl: { exit_status: 64 + 128 } }, 0, []],
    ['one that can read less and less', passed, 2, ['DiskFailing: sda: more and more of it cannot be read']],
    [
      'an NVMe that went read-only',
      { nvme_smart_health_information_log: { critical_warning: 8, media_errors: 3, percentage_used: 12 } },
      0,
      ['DiskFailing: sda: it has become read-only'],
    ],
    [
      'an NVMe near its end',
      { nvme_smart_health_information_log: { critical_warning: 0, media_errors: 0, percentage_used: 90 } },
      0,
      ['DiskWorn: sda: 90 % or more of its life is used'],
    ],
    // Bit 2: warm.
    ['an NVMe that is warm', { nvme_smart_health_information_log: { critical_warning: 2 } }, 0, []],
  ] as const)('%s', (_what, value, grew, says) => {
    expect(look(value, grew)).toEqual(says)
  })

  test('pending sectors are counted; a disk that sleeps or says nothing is unknown', () => {
    const table = [
      { id: 5, raw: { value: 9 } },
      { id: 197, raw: { value: 3 } },
      { id: 198, raw: { value: 1 } },
    ]
    const text = JSON.stringify({ smartctl: {}, ...passed, ata_smart_attributes: { table } })
    expect(diskHealth('sda', text)?.unreadable).toBe(4)
    expect(look({})).toBeUndefined()
    expect(diskHealth('sda', '')).toBeUndefined()
    expect(diskHealth('sda', '{"smartctl": [')).toBeUndefined()
    expect(diskHealth('sda', 'null')).toBeUndefined()
  })

  test('whole disks only', () => {
    const names = ['sda', 'sda1', 'nvme0n1', 'loop0', 'dm-0', 'sdaa', '../x']
    expect(disks(hostOf(Object.fromEntries(names.map((n) => [`/sys/block/${n}/size`, '1']))))).toEqual([
      'nvme0n1',
      'sda',
      'sdaa',
    ])
  })
})

test('accelerators that are gone, wait for a reset, or are worn out', () => {
  const csv = [
    '00000000:3B:00.0, 0, No, No',
    '00000000:5E:00.0, 2, No, No',
    '00000000:86:00.0, [N/A], Yes, No',
    '00000000:AF:00.0, 0, No, Yes',
    'Unable to determine the device handle for GPU 0000:D8:00.0: Unknown Error',
  ].join('\n')
  expect(findings(judgeGpus(gpusIn(csv), 5))).toEqual([
    'GPUFaulty: 1 of 5 GPUs are gone; 00000000:AF:00.0: no spare rows are left for its memory',
    'GPUNeedsReset: 00000000:5E:00.0: uncorrectable memory errors; 00000000:86:00.0: waits for a reset to remap rows of its memory',
  ])
})

describe('file systems that do not answer', () => {
  const mount = (device: string, mountPoint: string, type: string) =>
    ({ device, mountPoint, type, source: 'x', options: [], superOptions: [] }) as const

  test('one question for a device, none for what lives in memory', () => {
    const mounts = [
      mount('8:1', '/', 'ext4'),
      mount('8:1', '/var', 'ext4'),
      mount('0:5', '/run', 'tmpfs'),
      mount('0:9', '/data', 'nfs4'),
    ]
    expect(mountsToAsk(mounts)).toEqual(['/', '/data'])
  })

  test('is reported after its time, is not asked twice, and ends with its answer', async () => {
    const asked: string[] = []
    const answer = Promise.withResolvers<void>()
    const questions = new MountQuestions((point) => {
      asked.push(point)
      return point === '/data' ? answer.promise : Promise.resolve()
    })
    expect(questions.look(['/', '/data'], 0, 60)).toEqual([])
    await Promise.resolve()
    await Promise.resolve()
    expect(questions.look(['/', '/data'], 59, 60)).toEqual([])
    expect(questions.look(['/', '/data'], 60, 60)).toEqual(['/data'])
    expect(asked.filter((p) => p === '/data')).toHaveLength(1)
    answer.resolve()
    await answer.promise
    await Promise.resolve()
    expect(questions.look(['/'], 61, 60)).toEqual([])
  })
})
