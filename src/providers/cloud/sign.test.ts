// Signatures compared with examples from the vendors' documentation and from their own packages.
import { expect, test } from 'vitest'
import { signedAcs3 } from '../alicloud/sign.ts'
import { signedV4 } from '../aws/sign.ts'
import { defined } from '#lib/defined.ts'

test('a call is signed as the example in the description of Alibaba Cloud', () => {
  const { headers, url } = signedAcs3(
    {
      action: 'RunInstances',
      params: { RegionId: 'cn-shanghai', ImageId: 'win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd' },
    },
    { id: 'YourAccessKeyId', secret: 'YourAccessKeySecret' },
    {
      endpoint: 'https://ecs.cn-shanghai.aliyuncs.com',
      version: '2014-05-26',
      nonce: '3156853299f313e23d1673dc12e1703d',
      now: Date.parse('2023-10-26T10:22:32Z'),
    },
  )
  expect(headers['authorization']).toBe(
    'ACS3-HMAC-SHA256 Credential=YourAccessKeyId,SignedHeaders=host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version,Signature=06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0',
  )
  expect(url).toContain('/?ImageId=win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd&RegionId=cn-shanghai')
})

const EXAMPLE = { id: 'AKIDEXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const PLACE = { region: 'us-east-1', service: 'service', now: Date.parse('2015-08-30T12:36:00Z') }

test.each([
  ['get-vanilla', 'GET', '/', {}, undefined, '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  ['post-vanilla', 'POST', '/', {}, undefined, '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  [
    'get-vanilla-query-order-key-case',
    'GET',
    '/?Param2=value2&Param1=value1',
    {},
    undefined,
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'post-x-www-form-urlencoded',
    'POST',
    '/',
    { 'content-type': 'application/x-www-form-urlencoded' },
    'Param1=value1',
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  ],
] as const)('a request is signed as in the published suite of AWS: %s', (_, method, path, headers, body, signature) => {
  const request = { method, url: `https://example.amazonaws.com${path}`, headers, ...defined({ body }) }
  expect(signedV4(request, EXAMPLE, PLACE).headers['authorization']).toMatch(new RegExp(`Signature=${signature}$`))
})
