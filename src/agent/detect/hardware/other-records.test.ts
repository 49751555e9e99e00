// Records of other programs: real files and real sockets, and what a hostile one may put into them.
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, test } from 'vitest'
import { DETECTOR_DEFAULTS } from '#api/agent-config/detector-settings.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { seededRandom } from '#lib/random.ts'
import { hostOf } from '#test/doubles/node/host-of-files.ts'
import type { Reading } from '../builtin/reading.ts'
import { isOfRoot, judgeDcgm } from './dcgm.ts'
import { judgeFpgas } from './fpga.ts'
import { dcgmDetection, LOOKS_WITHOUT_SOURCE, rasDetection, redfishDetection } from './other-records.ts'
import { newestRows } from './sqlite-end.ts'
import { criticalParts, membersOf, redfishAccess, SYSTEMS } from './redfish.ts'

const scratch = mkdtempSync(join(tmpdir(), 'kubenode-records-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const findings = (readings: readonly Reading[]) =>
  readings.flatMap(({ type, status, message }) => (status === 'True' ? [`${type}: ${message}`] : []))

/** What is shown after a source was absent in as many readings as end its findings. */
async function afterAbsence(look: () => Promise<readonly Reading[]>): Promise<readonly Reading[]> {
  for (let n = 1; n < LOOKS_WITHOUT_SOURCE; n++) expect(await look()).toEqual([])
  return look()
}

describe('rasdaemon', () => {
  const now = Date.parse('2026-01-31T12:00:00Z')
  const host = hostOf({ '/proc/uptime': '3600.00 1.00\n' })
  const file = join(scratch, 'ras.db')
  const look = () => rasDetection(host, { now: () => now }, [file])()

  /** The tables of rasdaemon 0.8, shortened to the columns that are read. */
  function record(...statements: readonly string[]): void {
    rmSync(file, { force: true })
    const database = new DatabaseSync(file)
    for (const sql of [
      'create table mc_event (id integer primary key, timestamp text, err_count integer, err_type text, err_msg text, label text)',
      'create table mce_record (id integer primary key, timestamp text, status integer, cpu integer, bank_name text)',
      'create table aer_event (id integer primary key, timestamp text, dev_name text, err_type text, err_msg text)',
      ...statements,
    ])
      database.exec(sql)
    database.close()
    chmodSync(file, 0o600)
  }
  const mc = (at: string, type: string, label = 'CPU_SrcID#0_Ha#0_Chan#1_DIMM#0'): string =>
    `insert into mc_event (timestamp, err_count, err_type, label) values ('${at}', 1, '${type}', '${label}')`

  test('what it recorded since boot, with its names; what was before, or was corrected, is none', async () => {
    record(
      mc('2026-01-31 12:30:00 +0100', 'Uncorrected'),
      mc('2026-01-31 12:31:00 +0100', 'Corrected', 'other'),
      mc('2026-01-31 10:00:00 +0000', 'Uncorrected', 'of the last boot'),
      mc('whenever', 'Fatal', 'without a time'),
      // 0xbea0000000000108, and a corrected one.
      `insert into mce_record (timestamp, status, cpu, bank_name) values ('2026-01-31 11:30:00 +0000', -4710765210229538552, 12, 'Load store')`,
      `insert into mce_record (timestamp, status, cpu, bank_name) values ('2026-01-31 11:30:00 +0000', -7195130264894732269, 13, 'L2')`,
      `insert into aer_event (timestamp, dev_name, err_type) values ('2026-01-31 11:30:00 +0000', '0000:3b:00.0', 'Uncorrected (Fatal)')`,
      `insert into aer_event (timestamp, dev_name, err_type) values ('2026-01-31 11:30:00 +0000', '0000:5e:00.0', 'Corrected')`,
    )
    expect(findings(await look())).toEqual([
      'MemoryFaulty: CPU_SrcID#0_Ha#0_Chan#1_DIMM#0: uncorrectable memory errors',
      'CPUFaulty: CPU 12 Load store: a machine check that was not corrected',
      'PCIeFaulty: 0000:3b:00.0: a fatal PCIe error',
    ])
  })

  test('no record says nothing, and neither does one with tables that are not its own', async () => {
    rmSync(file, { force: true })
    expect(await look()).toEqual([])
    record(
      'drop table mc_event',
      `create view mc_event as select 1 as id, '2026-01-31 11:30:00 +0000' as timestamp, 'Fatal' as err_type, 'x' as label`,
    )
    expect(findings(await look())).toEqual([])
  })

  const fatalPcie = (device: string): string =>
    `insert into aer_event (timestamp, dev_name, err_type) values ('2026-01-31 11:30:00 +0000', '${device}', 'Uncorrected (Fatal)')`

  test('a table that lacks a column is left out, the others count', async () => {
    record(
      'drop table mc_event',
      'create table mc_event (id integer primary key, other text)',
      fatalPcie('0000:3b:00.0'),
    )
    expect(findings(await look())).toEqual(['PCIeFaulty: 0000:3b:00.0: a fatal PCIe error'])
  })

  test('two records count together, each is read only when it changed, and a broken one hides no other', async () => {
    const second = join(scratch, 'second.db')
    record(fatalPcie('0000:5e:00.0'))
    renameSync(file, second)
    record(mc('2026-01-31 11:30:00 +0000', 'Fatal', 'DIMM1'))
    const both = rasDetection(host, { now: () => now }, [file, second])
    const all = ['MemoryFaulty: DIMM1: uncorrectable memory errors', 'PCIeFaulty: 0000:5e:00.0: a fatal PCIe error']
    expect(findings(await both())).toEqual(all)
    expect(findings(await both())).toEqual(all)
    writeFileSync(file, Buffer.alloc(8_388_609))
    await expect(both()).rejects.toThrow('not an SQLite file')
    expect(findings(await both())).toEqual(all)
    writeFileSync(second, Buffer.alloc(8_388_609))
    for (let n = 0; n < 2; n++) await expect(both()).rejects.toThrow('not an SQLite file')
    rmSync(second)
  })

  test('a record that others may write, a link, a huge or a broken one finds nothing', async () => {
    record(mc('2026-01-31 11:30:00 +0000', 'Fatal'))
    chmodSync(file, 0o666)
    await expect(look()).rejects.toThrow(/written or read by others/)
    chmodSync(file, 0o600)
    const link = join(scratch, 'link.db')
    symlinkSync(file, link)
    expect(await rasDetection(host, { now: () => now }, [link])()).toEqual([])
    writeFileSync(file, Buffer.alloc(8_388_609))
    await expect(look()).rejects.toThrow('not an SQLite file')
    writeFileSync(file, 'SQLite format 3\0 and then not')
    await expect(look()).rejects.toThrow()
  })

  describe('above 8 MiB', () => {
    const corrected = (rows: number, at = '2026-01-31 11:40:00 +0000'): string =>
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
       insert into mc_event (timestamp, err_count, err_type, err_msg, label) select '${at}', 1, 'Corrected', printf('%0200d', i), 'other' from n`
    const add = (...statements: readonly string[]): void => {
      const database = new DatabaseSync(file)
      for (const sql of statements) database.exec(sql)
      database.close()
    }

    test('the end of each table is read, up to the last boot', async () => {
      const ofThisBoot = '2026-01-31 11:30:00 +0000'
      record(
        mc('2026-01-31 10:00:00 +0000', 'Uncorrected', 'of the last boot'),
        corrected(50_000, '2026-01-31 10:30:00 +0000'),
        mc(ofThisBoot, 'Uncorrected', `DIMM1 ${'x'.repeat(10_000)}`),
        corrected(3_000),
        fatalPcie('0000:3b:00.0'),
        `insert into mce_record (timestamp, status, cpu, bank_name) values ('${ofThisBoot}', -4710765210229538552, 12, 'Load store')`,
        'create index by_time on mc_event (timestamp)',
        'create view aer as select * from aer_event',
      )
      expect(statSync(file).size).toBeGreaterThan(8_388_608)
      const said = findings(await look())
      expect(said.map((text) => text.slice(0, 30))).toEqual([
        'MemoryFaulty: DIMM1 xxxxxxxxxx',
        'CPUFaulty: CPU 12 Load store: ',
        'PCIeFaulty: 0000:3b:00.0: a fa',
      ])
    })

    test('what was found earlier in this boot stays, when more came since than is read', async () => {
      record(mc('2026-01-31 11:30:00 +0000', 'Uncorrected', 'DIMM1'))
      const detect = rasDetection(host, { now: () => now }, [file])
      const lost = ['MemoryFaulty: DIMM1: uncorrectable memory errors']
      expect(findings(await detect())).toEqual(lost)
      add(corrected(50_000))
      expect(findings(await detect())).toEqual(lost)
      // An agent that reads it for the first time now does not know it.
      expect(findings(await look())).toEqual([])
    })

    test('any damage is an error or a shorter answer, and never an endless look', async () => {
      record(corrected(50_000), mc('2026-01-31 11:30:00 +0000', 'Uncorrected', 'DIMM1'))
      const bytes = readFileSync(file)
      const random = seededRandom(68)
      for (let n = 0; n < 200; n++) {
        // In the headers, where damage leads astray: of the file, and of pages.
        const damage = Array.from({ length: 4 }, () => {
          const at = random.below(2) * 4_096 * random.below(2_000) + random.below(120)
          return [at, bytes.readUInt8(at)] as const
        })
        for (const [at] of damage) bytes[at] = random.below(256)
        const read = async (offset: number, length: number) => {
          if (offset + length > bytes.length) throw new Error('cut')
          return bytes.subarray(offset, offset + length)
        }
        let pages = 0
        const counted: typeof read = (...of) => (pages++, read(...of))
        const limits = { pages: 50, isOld: () => false }
        await newestRows(counted, ['mc_event', 'mce_record'], limits).catch((error: unknown) =>
          expect(error).toBeInstanceOf(Error),
        )
        expect(pages).toBeLessThan(200)
        for (const [at, byte] of damage.toReversed()) bytes[at] = byte
      }
    })
  })

  test('a label without end is cut, and controls no terminal', async () => {
    record(mc('2026-01-31 11:30:00 +0000', 'Fatal', `\u001b[31m${'x'.repeat(100_000)}`))
    const [said = ''] = findings(await look())
    expect(said).toMatch(/^[ -~\ufffd]{1,160}$/)
  })
})

describe('DCGM', () => {
  const sample = (name: string, value: string, address = '00000000:3B:00.0'): string =>
    `DCGM_FI_DEV_${name}{gpu="0",UUID="GPU-1f2e",pci_bus_id="${address}",device="nvidia0",modelName="NVIDIA H100",Hostname="n-1"} ${value}`

  test('counters that are above zero, by accelerator; others and the last Xid are none', () => {
    const text = [
      '# HELP DCGM_FI_DEV_XID_ERRORS Value of the last XID error encountered.',
      sample('XID_ERRORS', '79'),
      sample('ECC_DBE_VOL_TOTAL', '2'),
      sample('ROW_REMAP_PENDING', '0'),
      sample('ROW_REMAP_FAILURE', '1', '00000000:5E:00.0'),
      sample('GPU_TEMP', '83'),
    ].join('\n')
    expect(findings(judgeDcgm(text))).toEqual([
      'GPUFaulty: 00000000:5E:00.0: no spare rows are left for its memory',
      'GPUNeedsReset: 00000000:3B:00.0: uncorrectable memory errors',
    ])
    expect(judgeDcgm(sample('ECC_DBE_VOL_TOTAL', '0')).map((r) => r.status)).toEqual(['False', 'False'])
    expect(judgeDcgm('')).toEqual([])
  })

  test.each([
    ['a value that is no count', sample('ECC_DBE_VOL_TOTAL', 'NaN')],
    ['a part that is no address', sample('ECC_DBE_VOL_TOTAL', '1', 'evil"} 1').replace('gpu="0",', '')],
    ['a line without end', `DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{${'a="b",'.repeat(200_000)}} 1`],
    ['braces', '{'.repeat(100_000)],
  ])('%s finds nothing', (_what, text) => expect(findings(judgeDcgm(text))).toEqual([]))

  const listener = (uid: string, address = '0100007F:24B8', state = '0A'): string =>
    `  sl  local_address rem_address   st\n   0: ${address} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 6306363 1\n`

  test('only an exporter of root counts: any user may listen on its port', () => {
    const is = (text: string) => isOfRoot(hostOf({ '/proc/net/tcp': text }).read, 9_400)
    expect(is(listener('    0'))).toBe(true)
    expect(is(listener('    0', '00000000:24B8'))).toBe(true)
    expect(is(listener(' 1000'))).toBe(false)
    expect(is(listener('    0') + listener(' 1000', '00000000:24B8'))).toBe(false)
    expect(is(listener('    0', '0100007F:24B9'))).toBe(false)
    // Of a connection, not of a listener.
    expect(is(listener('    0', '0100007F:24B8', '01'))).toBe(false)
    expect(isOfRoot(hostOf({}).read, 9_400)).toBe(false)
  })

  const served = async (answer: (server: Server) => void): Promise<number> => {
    const server = createServer()
    answer(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    afterAll(() => {
      server.closeAllConnections()
      server.close()
    })
    return (server.address() as AddressInfo).port
  }
  const hexOf = (port: number): string => `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lookAt = (port: number) =>
    dcgmDetection(
      hostOf({ '/proc/net/tcp': listener('    0', hexOf(port)) }),
      { ...DETECTOR_DEFAULTS.dcgm, timeoutMs: 500 },
      port,
    )()

  test('an exporter is asked over loopback; one that floods, hangs or sends elsewhere says nothing', async () => {
    const good = await served((s) => s.on('request', (_, r) => r.end(sample('ECC_DBE_VOL_TOTAL', '1'))))
    expect(findings(await lookAt(good))).toEqual(['GPUNeedsReset: 00000000:3B:00.0: uncorrectable memory errors'])
    const silent = await served((s) => s.on('request', (_, r) => r.writeHead(500).end()))
    const flood = await served((s) =>
      s.on('request', (_, r) => {
        r.on('error', () => undefined)
        r.end(`${sample('ECC_DBE_VOL_TOTAL', '1')}\n`.repeat(50_000))
      }),
    )
    expect(await lookAt(flood)).toEqual([])
    // An exporter that answers with errors may do so because of the fault. Then the exporter is removed.
    let port = good
    const host = { list: () => [], read: () => (port === 0 ? '' : listener('    0', hexOf(port))) }
    const settings = { ...DETECTOR_DEFAULTS.dcgm, timeoutMs: 500 }
    const look = dcgmDetection(host, settings, good)
    expect(findings(await look())).toHaveLength(1)
    const broken = dcgmDetection({ ...host, read: () => listener('    0', hexOf(silent)) }, settings, silent)
    for (let n = 0; n <= LOOKS_WITHOUT_SOURCE; n++) expect(await broken()).toEqual([])
    port = 0
    expect((await afterAbsence(look)).map((r) => `${r.type} ${r.status} ${r.reason}`)).toEqual([
      'GPUFaulty False NoSource',
      'GPUNeedsReset False NoSource',
    ])
    port = good
    expect(findings(await look())).toHaveLength(1)
    expect(await lookAt(await served((s) => s.on('request', () => undefined)))).toEqual([])
    const away = await served((s) =>
      s.on('request', (_, r) => r.writeHead(302, { location: `http://127.0.0.1:${good}/metrics` }).end()),
    )
    expect(await lookAt(away)).toEqual([])
  })
})

describe('Redfish', () => {
  test('critical parts, by name; what is absent, warned of or unknown is none', () => {
    expect(
      criticalParts([
        { MemorySummary: { Status: { HealthRollup: 'Critical' } }, ProcessorSummary: { Status: { Health: 'OK' } } },
        {
          Fans: [
            { Name: 'Fan 1A', Status: { State: 'Enabled', Health: 'Critical' } },
            { FanName: 'Fan 2', Status: { Health: 'Warning' } },
          ],
        },
        {
          PowerSupplies: [{ Name: 'PSU 2', Status: { State: 'Absent', Health: 'Critical' } }, null, 7],
          Redundancy: 'x',
        },
        undefined,
        'no object',
      ]),
    ).toEqual(['memory is critical', 'Fan 1A is critical'])
  })

  test('a controller names no place outside its collection', () => {
    const members = [
      '/redfish/v1/Systems/1',
      '/redfish/v1/Systems/System.Embedded.1/',
      '/redfish/v1/Systems/../Managers/1',
      '/redfish/v1/Systems/..',
      'https://evil.example/',
      '/redfish/v1/Systems/1?x=y',
      7,
    ]
    expect(membersOf({ Members: members.map((id) => ({ '@odata.id': id })) }, SYSTEMS)).toEqual([
      '/redfish/v1/Systems/1',
      '/redfish/v1/Systems/System.Embedded.1',
    ])
    expect(
      membersOf({ Members: Array.from({ length: 1_000 }, () => ({ '@odata.id': `${SYSTEMS}/1` })) }, SYSTEMS),
    ).toHaveLength(8)
    expect(membersOf(null, SYSTEMS)).toEqual([])
  })

  test.each([
    ['{', 'is no JSON object'],
    ['[]', 'is no JSON object'],
    ['{"address": "https://10.0.0.9"}', 'needs address, user and password'],
    ['{"address": "http://10.0.0.9", "user": "u", "password": "p"}', 'needs an address with https://'],
    ['{"address": "https://u:p@10.0.0.9", "user": "u", "password": "p"}', 'needs an address with https://'],
  ])('%s', (text, why) => expect(redfishAccess(text)).toBe(why))

  test('without its file nothing is asked, and a file that others may read is refused', async () => {
    const file = join(scratch, 'redfish.json')
    const look = redfishDetection({ ...DETECTOR_DEFAULTS.redfish, timeoutMs: 500 }, file)
    expect(await look()).toEqual([])
    writeFileSync(file, JSON.stringify({ address: 'https://127.0.0.1:1', user: 'u', password: 'secret-word' }), {
      mode: 0o644,
    })
    await expect(look()).rejects.toThrow(/read by others/)
    chmodSync(file, 0o600)
    const failed = await look().catch((e: unknown) => String(e))
    expect(failed).toMatch(/ECONNREFUSED|EACCES|refused/)
    expect(failed).not.toMatch(/secret-word/)
  })

  test('a controller is asked over TLS with its own authority; a refused password is not sent again', async () => {
    const validity = { now: Date.now(), days: 1 }
    const authority = newAuthority('bmc', validity)
    const { key, certificate } = issueCertificate(authority, {
      subject: { commonName: 'bmc-17' },
      validity,
      usage: 'server',
      hosts: ['127.0.0.1'],
    })
    const tree: Record<string, unknown> = {
      [SYSTEMS]: { Members: [{ '@odata.id': `${SYSTEMS}/1` }] },
      [`${SYSTEMS}/1`]: { MemorySummary: { Status: { Health: 'OK' } } },
      '/redfish/v1/Chassis': { Members: [{ '@odata.id': '/redfish/v1/Chassis/1' }] },
      '/redfish/v1/Chassis/1/Thermal': { Fans: [{ Name: 'Fan 3', Status: { Health: 'Critical' } }] },
    }
    const asked: string[] = []
    const forbidden = new Set<string>()
    const server = createTlsServer({ key, cert: certificate }, ({ url = '', headers }, response) => {
      asked.push(url)
      const isKnown = headers.authorization === `Basic ${Buffer.from('reader:right').toString('base64')}`
      const found = tree[url]
      const status = forbidden.has(url) ? 403 : found === undefined ? 404 : 200
      response.writeHead(isKnown ? status : 401).end(JSON.stringify(found ?? {}))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    afterAll(() => void server.close())
    const { port } = server.address() as AddressInfo
    const file = join(scratch, 'bmc.json')
    const write = (password: string, ca = authority.certificate) => {
      writeFileSync(file, JSON.stringify({ address: `https://127.0.0.1:${port}`, user: 'reader', password, ca }))
      chmodSync(file, 0o600)
    }
    const look = redfishDetection({ ...DETECTOR_DEFAULTS.redfish, timeoutMs: 2_000 }, file)
    write('right')
    expect(findings(await look())).toEqual(['HardwareAlarm: Fan 3 is critical'])
    asked.length = 0
    write('wrong-one')
    await expect(look()).rejects.toThrow('the controller refused the password')
    expect(await afterAbsence(look)).toMatchObject([{ type: 'HardwareAlarm', status: 'False', reason: 'NoSource' }])
    expect(asked).toEqual([SYSTEMS])
    // Nothing is sent to one that another authority vouches for.
    write('right', newAuthority('other', validity).certificate)
    await expect(look()).rejects.toThrow(/certificate|signature/)
    expect(asked).toEqual([SYSTEMS])
    write('right')
    expect(findings(await look())).toEqual(['HardwareAlarm: Fan 3 is critical'])
    // An account may be kept from some pages; one that may read none is not used again.
    for (const page of [`${SYSTEMS}/1`, '/redfish/v1/Chassis/1/Power']) forbidden.add(page)
    expect(findings(await look())).toEqual(['HardwareAlarm: Fan 3 is critical'])
    for (const page of [SYSTEMS, '/redfish/v1/Chassis']) forbidden.add(page)
    await expect(look()).rejects.toThrow('the controller lets this account read nothing')
    asked.length = 0
    expect(await look()).toEqual([])
    expect(asked).toEqual([])
  })
})

test('FPGAs whose configuration failed, or whose card counts a fatal error', () => {
  const dfl = '/sys/bus/platform/devices/dfl-fme.0/errors'
  expect(
    findings(
      judgeFpgas(
        hostOf({
          '/sys/class/fpga_manager/fpga0/state': 'operating\n',
          '/sys/class/fpga_manager/fpga0/status': '\n',
          '/sys/class/fpga_manager/fpga1/state': 'write error\n',
          '/sys/class/fpga_manager/fpga2/state': 'operating\n',
          '/sys/class/fpga_manager/fpga2/status': 'reconfig CRC error\nreconfig operation error\n',
          '/sys/class/fpga_manager/fpga3/state': '\u001b[31m error\n',
          [`${dfl}/catfatal_errors`]: '0x40\n',
          [`${dfl}/fme_errors`]: '0x0\n',
        }),
      ),
    ),
  ).toEqual(['FPGAFaulty: fpga1: write error; fpga2: reconfig CRC error; dfl-fme.0: catfatal_errors is not zero'])
  expect(judgeFpgas(hostOf({})).map((r) => r.status)).toEqual(['False'])
})
