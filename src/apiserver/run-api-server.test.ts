import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runApiServer } from './run-api-server.ts'

let data: string
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'kubenode-start-'))
})
afterEach(() => rmSync(data, { recursive: true }))

test('a start that failed leaves its folder free for the next one in the same process', async () => {
  const end = new AbortController()
  const start = () => runApiServer({ data, port: 0, loops: false, keepsCompiled: false, signal: end.signal })
  const keys = join(data, 'pki')
  writeFileSync(keys, '')
  await expect(start()).rejects.toThrow()
  rmSync(keys)
  const { ended } = await start()
  end.abort()
  await ended
})
