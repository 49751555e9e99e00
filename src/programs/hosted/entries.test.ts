import { expect, it } from 'vitest'
import { entryOf, sharedOptions } from './entries.ts'
import { parseUsage } from './usage.ts'

const options = {
  providers: '/p/{cluster}.json',
  trust: '/t',
  artifactTrust: 'host',
  certificateLife: '3d',
  hostServer: 'https://hub',
}

it('a process gets the options of its program alone, with the files of its Cluster, and never an address of the hub', () => {
  const shared = sharedOptions('controllers', options)
  expect(entryOf({ program: 'controllers', cluster: 'a.b', kubeconfig: '/k', shared }).join(' ')).toBe(
    '--roles controllers --kubeconfig controllers=/k --cluster a.b --providers /p/a.b.json --artifact-trust host --trust /t',
  )
  expect(sharedOptions('controllers', { providers: '/p/own.json' })).toEqual([
    '--providers',
    '/p/own.json',
    '--providers-shared',
  ])
  expect(sharedOptions('approver', options)).toEqual(['--certificate-life', '3d'])
  expect(sharedOptions('defender', options)).toEqual([])
})

it('what a process uses is read past a name with spaces and parentheses', () => {
  const stat = `7 (a) b (c) S ${Array.from({ length: 10 }, () => '0').join(' ')} 150 50 0 0`
  expect(parseUsage(stat, 'Name:\tx\nVmRSS:\t    2048 kB\n')).toEqual({ residentBytes: 2048 * 1024, cpuSeconds: 2 })
  expect(parseUsage(stat, 'Name:\tx\n')).toBeUndefined()
})
