import { expect, test } from 'vitest'
import { isChange } from './unnamed-cluster.ts'

test.each([
  ['GET', '/apis/kubenode.io/v1alpha1/machines', false],
  ['PATCH', '/apis/kubenode.io/v1alpha1/operationalholds/a?fieldManager=kubenode', true],
  ['DELETE', '/apis/kubenode.io/v1alpha1/operationalholds/a', true],
  ['POST', '/apis/kubenode.io/v1alpha1/operationalholds', true],
  ['POST', '/apis/kubenode.io/v1alpha1/logrequests', false],
  ['DELETE', '/apis/kubenode.io/v1alpha1/logrequests/a', false],
  ['POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', false],
  ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', false],
  ['PATCH', '/api/v1/namespaces/a?fieldManager=kubenode&dryRun=All', false],
  ['PATCH', '/api/v1/namespaces/dryRun=All', true],
])('%s %s changes the cluster: %s', (method, path, changes) => expect(isChange(method, path)).toBe(changes))
