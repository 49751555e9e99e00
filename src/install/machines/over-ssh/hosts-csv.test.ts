import { describe, expect, test } from 'vitest'
import { hostRows } from './hosts-csv.ts'

const cells = (text: string) => hostRows(text).rows.map((row) => [row.line, row.cells])

describe('the rows of a file of hosts', () => {
  test('have the columns of the first line, in any order and spelling', () => {
    expect(cells('Host,name,HOST_KEY\n10.0.0.7, db-1 ,ssh-ed25519 AAAA\n\n# later\n,db-2,\n')).toEqual([
      [2, { host: '10.0.0.7', name: 'db-1', hostKey: 'ssh-ed25519 AAAA' }],
      [5, { name: 'db-2' }],
    ])
  })

  test('may be of a spreadsheet: a mark at the beginning, carriage returns, quotes', () => {
    expect(cells('\uFEFFname,host,user\r\n"db-1","a ""b"", c",root\r\ndb-2,"x"\r\n')).toEqual([
      [2, { name: 'db-1', host: 'a "b", c', user: 'root' }],
      [3, { name: 'db-2', host: 'x' }],
    ])
  })

  test.each([
    ['', 1, /the file is empty/],
    ['# only this\n', 1, /the file is empty/],
    ['db-1,10.0.0.7\n', 1, /no column is called "db-1"/],
    ['name,hosst\na,b\n', 1, /did you mean host\?/],
    ['name,host,name\na,b,c\n', 1, /column name appears twice/],
    ['host\n10.0.0.7\n', 1, /there is no column name/],
    ['name,host\n', 1, /no host follows/],
    ['name,host\na,b,c\n', 2, /3 cells, and 2 columns/],
    ['name,host\nb,c\n\na,"b\n', 4, /a quote is not closed/],
    [`name\n${'a\n'.repeat(10_001)}`, 1, /10001 hosts follow; divide the file/],
  ])('%j is refused at line %i', (text, line, why) => {
    expect(hostRows(text).problems).toEqual([{ line, text: expect.stringMatching(why) }])
  })
})
