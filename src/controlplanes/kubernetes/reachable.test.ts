// What API servers of control planes may call.
import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { rangesOfNodes, reachable } from './reachable.ts'

const node = (name: string, podCIDRs: readonly string[] | undefined, ...addresses: readonly string[]): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  spec: { ...(podCIDRs && { podCIDR: podCIDRs[0], podCIDRs }) },
  status: {
    addresses: [...addresses.map((address) => ({ type: 'InternalIP', address })), { type: 'Hostname', address: name }],
  },
})

test('the network of a hub is that of its Nodes and their pods, in as few ranges as possible', () => {
  const nodes = [
    node('a', ['10.244.0.0/24', 'fd00:1::/64'], '192.0.2.1', '2001:db8::1'),
    node('b', ['10.244.1.0/24'], '192.0.2.9'),
    node('c', undefined, '192.0.2.8'),
    node('d', ['10.244.0.128/25', 'no range'], 'no-address'),
  ]
  expect(rangesOfNodes(nodes)).toEqual([
    '10.244.0.0/23',
    'fd00:1::/64',
    '192.0.2.1/32',
    '192.0.2.8/31',
    '2001:db8::1/128',
  ])
})

test('a hub with very many Nodes closes the ranges of its pods first', () => {
  const many = Array.from({ length: 2_000 }, (_, n) =>
    node(`n-${n}`, [`10.${Math.floor(n / 256)}.${n % 256}.0/24`], `192.0.${Math.floor(n / 64)}.${(n % 64) * 2}`),
  )
  const ranges = rangesOfNodes(many)
  expect(ranges).toHaveLength(500)
  expect(ranges.slice(0, 2)).toEqual(['10.0.0.0/14', '10.4.0.0/15'])
})

test('everything is open but this host, its link, where clouds hand out credentials, and what is closed', () => {
  const [v4, v6, ...more] = reachable(['10.96.0.7/12', 'fd00:2::/108', '0.0.0.0/0'], ['10.96.3.4/32'])
  expect(v4).toEqual({
    cidr: '0.0.0.0/0',
    except: [
      '0.0.0.0/8',
      '10.96.0.0/12',
      '100.100.100.200/32',
      '127.0.0.0/8',
      '168.63.129.16/32',
      '169.254.0.0/16',
      '192.0.0.192/32',
      '224.0.0.0/3',
    ],
  })
  expect(v6?.cidr).toBe('::/0')
  expect(v6?.except).toEqual(expect.arrayContaining(['fd00:2::/108', 'fe80::/10', 'fd00:ec2::/32']))
  expect(more).toEqual([{ cidr: '10.96.3.4/32' }])
})
