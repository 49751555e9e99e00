// Who may name an SSH server, its key, a jump host or the Secret with the login, and who reports how the join goes. The controllers log in with that Secret: a
// client that could name both would get its script run as root on a server of its choice, or the login sent there.
import { API_GROUP } from '#api/kind.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { all, any, isProgram, quoted, type AdmissionPolicy } from './policy.ts'

/** As with other verbs of its name: no request has it, roles give it. */
const VERB = 'use'
const mayUse = (name: string): string =>
  `authorizer.group('').resource('secrets').namespace(${quoted(SYSTEM_NAMESPACE)}).name(${name}).check(${quoted(VERB)}).allowed()`
const mayUseSecretsOf = (ssh: string): string =>
  all(
    mayUse(`${ssh}.?secretRef.?name.orValue('')`),
    any(`!has(${ssh}.rescue)`, mayUse(`${ssh}.?rescue.?secretRef.?name.orValue('')`)),
  )
/** The author of the set had the right to its Secrets, and chose its hosts. */
const isOfSet = `object.metadata.?ownerReferences.orValue([]).exists(o, o.kind == 'MachineSet' && o.?controller.orValue(false) && o.apiVersion.startsWith(${quoted(`${API_GROUP}/`)}))`

const servers: AdmissionPolicy = {
  name: 'kubenode-ssh',
  rules: [{ apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['machines'] }],
  matchConditions: [
    { name: 'names-a-server', expression: 'has(object.spec) && has(object.spec.ssh)' },
    { name: 'and-changes-it', expression: any('oldObject == null', 'object.spec.?ssh != oldObject.?spec.?ssh') },
  ],
  variables: [],
  validations: [
    {
      // What sync applies is in git, and the Secret's own limits of pools and hosts hold for it as well.
      expression: any(isProgram('sync'), all(isProgram('controllers'), isOfSet), mayUseSecretsOf('object.spec.ssh')),
      message: `naming an SSH server in spec.ssh needs the right to its Secrets: verb ${VERB} on secrets in ${SYSTEM_NAMESPACE}, by the names in spec.ssh.secretRef and spec.ssh.rescue`,
    },
  ],
}

const TEMPLATE_SSH = 'spec.?template.?spec.?ssh'

const setServers: AdmissionPolicy = {
  name: 'kubenode-ssh-sets',
  rules: [{ apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['machinesets'] }],
  matchConditions: [
    { name: 'names-servers', expression: `object.${TEMPLATE_SSH}.hasValue()` },
    {
      name: 'and-changes-them',
      expression: any('oldObject == null', `object.${TEMPLATE_SSH} != oldObject.${TEMPLATE_SSH}`),
    },
  ],
  variables: [],
  validations: [
    {
      expression: any(isProgram('sync'), mayUseSecretsOf('object.spec.template.spec.ssh')),
      message: `naming SSH servers in spec.template.spec.ssh needs the right to its Secrets: verb ${VERB} on secrets in ${SYSTEM_NAMESPACE}, by the names in secretRef and rescue`,
    },
  ],
}

const joins: AdmissionPolicy = {
  name: 'kubenode-ssh-joins',
  rules: [{ apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['UPDATE'], resources: ['machines/status'] }],
  matchConditions: [
    {
      name: 'the-join-changes',
      expression: any(
        'object.?status.?join != oldObject.?status.?join',
        'object.?status.?visit != oldObject.?status.?visit',
      ),
    },
  ],
  variables: [],
  validations: [
    {
      expression: isProgram('controllers'),
      message: 'only the controllers write status.join, which has the host key that was accepted, and status.visit',
    },
  ],
}

export const sshPolicies: readonly AdmissionPolicy[] = [servers, setServers, joins]
