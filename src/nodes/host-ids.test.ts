// How KubeNode, cloud controllers and people spell the id of one host. Same: it is that host. Maybe: it could be, so the host is not harmed, but it
// is not assumed to be the same either.
import { describe, expect, test } from 'vitest'
import { instanceIn, instancesIn, schemeIn, spellingsOf } from './host-ids.ts'

type Verdict = 'Same' | 'Maybe' | 'Other'

const verdict = (ours: string, theirs: string): Verdict => {
  if (spellingsOf(ours).includes(instanceIn(theirs))) return 'Same'
  return instancesIn(theirs).some((i) => spellingsOf(ours).includes(i)) ? 'Maybe' : 'Other'
}

describe('the id of a host', () => {
  test.each<[ours: string, theirs: string, Verdict]>([
    // AWS: its controller writes the zone and leaves the account's part empty.
    ['aws://eu-central-1/i-0abc', 'aws:///eu-central-1a/i-0abc', 'Same'],
    ['aws://eu-central-1/i-0abc', 'aws://eu-central-1/i-0abc', 'Same'],
    ['aws://eu-central-1/i-0abc', 'AWS:///eu-central-1a/I-0ABC', 'Same'],
    ['aws://eu-central-1/i-0abc', 'aws:///eu-central-1a/i-0abc/', 'Same'],
    ['aws://eu-central-1/i-0abc', ' aws:///eu-central-1a/i-0abc ', 'Same'],
    ['aws://eu-central-1/i-0abc', 'i-0abc', 'Same'],
    ['aws://eu-central-1/i-0abc', 'aws:///eu-central-1a/i-0abcd', 'Other'],
    ['aws://eu-central-1/i-0abc', 'aws:///eu-central-1a/i-0ab', 'Other'],
    ['aws://eu-central-1/i-0abc', '', 'Other'],
    // Alibaba Cloud: with and without the provider as prefix.
    ['alicloud://cn-hangzhou/i-bp1', 'cn-hangzhou.i-bp1', 'Same'],
    ['alicloud://cn-hangzhou/i-bp1', 'alicloud://cn-hangzhou.i-bp1', 'Same'],
    ['alicloud://cn-hangzhou/i-bp1', 'CN-Hangzhou.i-BP1', 'Same'],
    ['alicloud://cn-hangzhou/i-bp1', 'cn-shanghai.i-bp1', 'Maybe'],
    ['alicloud://cn-hangzhou/i-bp1', 'cn-hangzhou.i-bp2', 'Other'],
    // Ids of own racks: a name with dots is one name.
    ['rack://host.a', 'rack://host.a', 'Same'],
    ['rack://a', 'rack://host.a', 'Maybe'],
    ['rack://host.a', 'rack://a', 'Other'],
    ['rack://eu/c.b', 'rack://eu/a.b', 'Other'],
    ['rack://one.example.com', 'rack://two.example.com', 'Other'],
    ['rack://a', 'rack://b', 'Other'],
    ['rack://eu/a', 'rack://us/a', 'Same'],
  ])('%s and %s', (ours, theirs, expected) => {
    expect(verdict(ours, theirs)).toBe(expected)
  })

  test.each([
    ['aws://r/i-1', 'aws'],
    ['AWS:///r/i-1', 'aws'],
    ['cn-hangzhou.i-1', undefined],
  ])('%s names the provider %s', (id, scheme) => {
    expect(schemeIn(id)).toBe(scheme)
  })
})
