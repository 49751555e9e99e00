// Validates how a definition declares the conversion of its versions.
import { forbidden, invalid, notSupported, required, type FieldError } from '../schema/field-error.ts'
import { serviceReferenceProblems } from '../schema/service-reference-problems.ts'
import { fields, texts, word, type Fields } from './definition.ts'

const AT = 'spec.conversion'
const REVIEWS = ['v1', 'v1beta1'] as const

export function conversionProblems(conversion: Fields): FieldError[] {
  const strategy = word(conversion['strategy'])
  if (strategy === '') return []
  if (strategy !== 'None' && strategy !== 'Webhook')
    return [notSupported(`${AT}.strategy`, strategy, ['None', 'Webhook'])]
  if (strategy === 'None')
    return conversion['webhook'] === undefined
      ? []
      : [forbidden(`${AT}.webhook`, 'should not be set when strategy is not set to Webhook')]
  const webhook = fields(conversion['webhook'])
  return [...clientProblems(webhook['clientConfig']), ...reviewProblems(texts(webhook['conversionReviewVersions']))]
}

function clientProblems(client: unknown): FieldError[] {
  const at = `${AT}.webhookClientConfig`
  if (client === undefined) return [required(at, 'required when strategy is set to Webhook')]
  const { url, service } = fields(client)
  if ((url === undefined) === (service === undefined))
    return [required(at, 'exactly one of url or service is required')]
  if (service !== undefined) return [...serviceReferenceProblems(fields(service), `${at}.service`)]
  const parsed = URL.parse(word(url))
  if (parsed === null || parsed.host === '')
    return [invalid(`${at}.url`, url, 'url must be a valid URL; desired format: https://host[/path]')]
  return parsed.protocol === 'https:'
    ? []
    : [
        invalid(
          `${at}.url`,
          parsed.protocol.slice(0, -1),
          "'https' is the only allowed URL scheme; desired format: https://host[/path]",
        ),
      ]
}

function reviewProblems(versions: readonly string[]): FieldError[] {
  const at = `${AT}.conversionReviewVersions`
  if (versions.length === 0) return [required(at)]
  return REVIEWS.some((v) => versions.includes(v))
    ? []
    : [invalid(at, versions, `must include at least one of ${REVIEWS.join(', ')}`)]
}
