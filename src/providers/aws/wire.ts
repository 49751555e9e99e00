// The wire format of EC2: a signed form out (query protocol), XML back.
import type { ApiCall, Read, Wire } from '../cloud/call.ts'
import type { CloudAnswer, CloudRequest } from '../cloud/http.ts'
import { readBy } from '../cloud/codes.ts'
import { EC2_ERROR_CODES } from './codes.ts'
import { signedV4 } from './sign.ts'
import { parseXml, xmlText } from './xml.ts'

const EC2_VERSION = '2016-11-15'

export const ec2Wire = (endpoint: string, region: string): Wire => ({
  sign: (call, keys, now) => signedV4(formOf(call, endpoint, EC2_VERSION), keys, { region, service: 'ec2', now }),
  read: readXml,
  ...readBy(EC2_ERROR_CODES),
})

export const formOf = ({ action, params }: ApiCall, endpoint: string, version: string): CloudRequest => ({
  method: 'POST',
  url: `${new URL(endpoint).origin}/`,
  headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
  body: new URLSearchParams({ Action: action, Version: version, ...params }).toString(),
})

function readXml({ status, text }: CloudAnswer): Read {
  const body = parseXml(text)
  // The response may also be the login page of a captive network.
  if (body === undefined || !Object.keys(body).every((name) => name.endsWith('Response'))) return { kind: 'Unreadable' }
  if (status === 200) return { kind: 'Body', body }
  const code = xmlText(body, 'Response', 'Errors', 'Error', 'Code') ?? xmlText(body, 'ErrorResponse', 'Error', 'Code')
  if (code === undefined) return { kind: 'Unreadable' }
  return { kind: 'Code', code, message: xmlText(body, 'Response', 'Errors', 'Error', 'Message') ?? '' }
}
