// What can be said about x-kubernetes-validations without knowing CEL: which texts must be there, which reasons and field paths exist.
import { childPath, invalid, keyPath, notSupported, required, type FieldError } from './field-error.ts'
import { findField } from './structural-path.ts'
import { nestedList, text, X_VALIDATIONS, type Raw } from './structural-raw.ts'

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired']

export function validationProblems(s: Raw, path: string): readonly FieldError[] {
  return nestedList(s, X_VALIDATIONS).flatMap((rule, i) => {
    const at = keyPath(childPath(path, X_VALIDATIONS), i)
    return [...textProblems(rule, at), ...reasonProblems(rule, at), ...fieldPathProblems(s, rule, at)]
  })
}

const LINE_BREAK = /[\n\r]/

function textProblems(rule: Raw, path: string): readonly FieldError[] {
  const out: FieldError[] = []
  const expression = text(rule, 'rule').trim()
  const message = text(rule, 'message')
  const field = childPath(path, 'message')
  if (expression === '') out.push(required(childPath(path, 'rule'), 'rule is not specified'))
  else if (message !== '' && message.trim() === '') out.push(invalid(field, message, 'must be non-empty if specified'))
  else if (LINE_BREAK.test(message.trim())) out.push(invalid(field, message, 'must not contain line breaks'))
  else if (LINE_BREAK.test(expression) && message.trim() === '')
    out.push(required(field, 'message must be specified if rule contains line breaks'))
  const messageExpression = text(rule, 'messageExpression')
  if (messageExpression !== '' && messageExpression.trim() === '')
    out.push(required(childPath(path, 'messageExpression'), 'messageExpression must be non-empty if specified'))
  return out
}

function reasonProblems(rule: Raw, path: string): readonly FieldError[] {
  const { reason } = rule
  const isKnown = reason === undefined || reason === null || (typeof reason === 'string' && REASONS.includes(reason))
  return isKnown ? [] : [notSupported(childPath(path, 'reason'), reason, REASONS)]
}

function fieldPathProblems(s: Raw, rule: Raw, path: string): readonly FieldError[] {
  const fieldPath = text(rule, 'fieldPath')
  if (fieldPath === '') return []
  const field = childPath(path, 'fieldPath')
  const out: FieldError[] = []
  if (fieldPath.trim() === '') out.push(invalid(field, fieldPath, 'must be non-empty if specified'))
  if (LINE_BREAK.test(fieldPath)) out.push(invalid(field, fieldPath, 'must not contain line breaks'))
  if ('problem' in findField(s, fieldPath)) out.push(invalid(field, fieldPath, 'must be a valid path'))
  return out
}
