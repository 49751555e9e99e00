// Controllers, and what a fleet declares: objects, rules and fields.
import type { Advice } from './advice.ts'

export const declared = {
  KN3001: {
    cause: 'Work was overtaken: a newer state or commit arrived, or the process is shutting down.',
    check: 'kubenode check and the log of the role, if it repeats for minutes',
    do: 'nothing: it is repeated automatically',
  },
  KN3012: {
    cause: 'This process no longer leads.',
    check: 'kubectl get leases in the namespace of KubeNode',
    do: 'nothing: the new leader continues; with many changes check the API server and the clocks',
  },
  KN3031: {
    cause: 'The Secret for the certificate of the metrics is missing.',
    check: 'kubectl get secrets in the namespace of KubeNode',
    do: 'apply deploy/install again, or give --metrics-tls-cert and --metrics-tls-key',
  },
  KN3050: {
    cause: 'A program has not read everything yet, and unknown never disrupts.',
    check: 'the log of the role, and the load of the API server, if it lasts',
    do: 'nothing: it decides once the lists are complete',
  },
  KN3051: {
    cause: 'The API server sends no updates, and unknown never disrupts.',
    check: 'the API server and the network to it',
    do: 'repair the way to it; decisions resume with the next update',
  },
  KN3060: {
    cause: "An inspection or provider would call an address inside the host's own network.",
    check: 'the address in the message',
    do: 'use an address reached from the hub, or start sync and the controllers with --inspection-allow',
  },
  KN3061: {
    cause: 'The key for naming secret values is damaged.',
    check: 'kubectl describe the Secret in the message',
    do: 'delete that Secret; a new one is created automatically',
  },
  KN3062: {
    cause: 'A component, or this version of it, is not declared in the fleet.',
    check: 'the MachineComponents of the fleet: kubenode plan',
    do: 'declare it, use a declared version, or name it in the annotation when another source has it',
  },
  KN3064: {
    cause: 'A component of type Script is used as if it ran always, or another one as a script.',
    check: 'spec.type of the MachineComponent',
    do: 'use type Script in runScript of rules only, and other types in sets only',
  },
  KN3066: {
    cause: 'No known detector reports this condition, or the agents of this fleet are not configured to.',
    check: 'the suggestion in the message, and docs/concepts/detection.md',
    do: 'correct the type of the condition, or configure what reports it; ignore this if your own detector does',
  },
  KN3067: {
    cause: 'The selector contradicts itself and matches nothing.',
    check: 'its requirements',
    do: 'remove one of them',
  },
  KN3068: {
    cause: 'No machine declared here has these labels.',
    check: 'the labels of MachineSets and Machines in the fleet',
    do: 'correct the selector; ignore this if machines are imported or labeled by hand',
  },
  KN3069: {
    cause: 'A rule does nothing but rescue, and machines that it applies to have no rescue key.',
    check: 'spec.ssh.rescue of the Machines, and of the templates of MachineSets',
    do: 'add another rung, set the key before they join, or limit the rule with nodeSelector',
  },
  KN3071: {
    cause: 'Component versions require each other in a cycle.',
    check: 'the cycle in the message',
    do: 'declare a version of one of them that requires none of the others',
  },
  KN3072: {
    cause: 'The configuration of agents in the fleet cannot be used.',
    check: 'the reason in the message, and the file agent.json',
    do: 'correct the file and commit it',
  },
  KN3074: {
    cause: 'The setting of an agent belongs to the administrator of the host, not to git.',
    check: 'the host file in the message',
    do: 'write it into that file on the hosts, or ship it in the image',
  },
  KN3075: {
    cause: "The providers of the fleet's own list do not have this name.",
    check: 'the file in the message',
    do: 'correct the name, or list the provider in that file',
  },
  KN3076: {
    cause: 'KubeNode brings no provider of this name.',
    check: 'docs/reference/providers.md',
    do: 'correct the name; list your own remote providers in the file of the message',
  },
  KN3077: {
    cause: 'Agents report this condition, and no rule of the fleet reads it.',
    check: 'docs/concepts/repairs.md',
    do: 'declare a rule for it, or write the reason why there is none into the annotation in the message',
  },
  KN3078: {
    cause:
      'The version reboots its machines, and these machines are folders whose provider would only imitate a reboot.',
    check: 'docs/operations/machines.md, and disruption of the component version',
    do: 'roll it out to machines of another provider, such as nspawn',
  },
  KN3079: {
    cause: 'A PodTemplate that accepts nodes is not declared in the fleet, which declares others.',
    check: 'kubectl -n kubenode-acceptance get podtemplates',
    do: 'correct the name, or declare the PodTemplate; ignore this if people write it by hand',
  },
  KN3101: {
    cause: 'Two components of type OS select the same machines, and a machine boots one kernel.',
    check: 'the selectors of both MachineComponentSets',
    do: 'select other machines with one of them, or make both versions of one component',
  },
  KN3090: {
    cause: 'Git may not declare this object or field: programs or people write it.',
    check: 'the object and field in the message',
    do: 'remove it from the fleet; approvals, pauses and freezes are commands',
  },
  KN3094: {
    cause: 'The cluster does not let sync apply this kind for git.',
    check: 'docs/operations/security.md, and kubectl auth can-i as kubenode-sync',
    do: 'grant sync the verb that the message names, or remove the object',
  },
  KN3096: {
    cause: 'The Secret with the kubeconfig of a cluster is not marked for this cluster.',
    check: 'its name and annotations',
    do: 'give it the expected name, or the annotation in the message',
  },
  KN3097: {
    cause: 'A cluster cannot have this name.',
    check: 'the name in the message',
    do: 'rename it: at most 63 lowercase letters, digits and dashes, and not the name of the hub',
  },
  KN3098: {
    cause: 'The hub refuses the Cluster.',
    check: 'the reason in the message',
    do: 'correct the Cluster; its control plane stays unchanged until then',
  },
  KN3099: {
    cause: 'The time to live ends the API server of a cluster soon or at once.',
    check: 'kubenode cluster show NAME',
    do: 'set a longer ttl before the merge, or extend it afterwards',
  },
  KN4001: {
    cause: 'A condition of a rule has the wrong form or value, is empty, or contradicts another one.',
    check: 'the pointer in the message',
    do: 'write a fact with an operator and a value as described, or all, any or not; remove one of two that contradict each other',
  },
  KN4002: {
    cause: 'A rule, or a set of rules, is larger than the limits allow.',
    check: 'the limit in the message',
    do: 'split it, flatten it, or merge rules',
  },
  KN4005: {
    cause: 'A rule names a field, fact, path or operator that does not exist there.',
    check: 'the list and the suggestion in the message',
    do: 'use one of the names listed',
  },
  KN4016: {
    cause: 'A rule has no good name, or two have the same.',
    check: 'the names of the rules',
    do: 'give each rule a short name of its own',
  },
  KN5000: {
    cause: 'An object has mistakes.',
    check: 'the lines below the message, one for each',
    do: 'correct each of them and try again',
  },
  KN5001: {
    cause: 'The object has a field that its kind does not know.',
    check: 'kubectl explain, and the suggestion in the message',
    do: 'remove or rename that field',
  },
  KN5002: {
    cause: 'A required field is missing.',
    check: 'kubectl explain for the place in the message',
    do: 'add the field',
  },
  KN5003: {
    cause: 'A value has the wrong type, format or size, or is listed twice.',
    check: 'what is allowed, at the end of the message',
    do: 'write an allowed value',
  },
  KN5007: {
    cause: 'Fields of an object do not fit to each other.',
    check: 'the rule in the message',
    do: 'change one of the fields so that the rule holds',
  },
  KN5008: {
    cause: 'The field never changes after the object was made.',
    check: 'the value that the cluster has',
    do: 'keep its value, or create an object with another name',
  },
  KN5009: {
    cause: 'The document is of another kind than expected here.',
    check: 'apiVersion and kind',
    do: 'correct them',
  },
  KN5011: {
    cause: 'The constructs of the fleet make objects that are not valid.',
    check: 'the problems in the message, and the lines that made them',
    do: 'correct the arguments of these constructs',
  },
  KN5012: {
    cause: 'The field exists and this version does not act on it.',
    check: 'docs/reference, which names such fields',
    do: 'leave it out until a version serves it',
  },
  KN5013: {
    cause: 'The path of an encrypted Secret is not one of sops.',
    check: 'the path in the message',
    do: 'write it from the folder of the fleet, as in fleet/secrets/db.sops.yaml',
  },
  KN5101: {
    cause: 'The signing key is not an Ed25519 key in PEM.',
    check: 'head -1 of the file',
    do: 'create one with kubenode artifact keys',
  },
  KN5301: {
    cause: 'A patch does not have the form of one, or merges lists against their types.',
    check: 'the reason in the message',
    do: 'correct the form of the patch, and the keys of its lists',
  },
  KN5302: {
    cause: 'A patch has too many operations.',
    check: 'the limit in the message',
    do: 'split it into smaller patches',
  },
  KN5303: {
    cause: 'A patch does not apply to what the object is now.',
    check: 'kubectl get with -o yaml',
    do: 'read the object again and patch that',
  },
} as const satisfies Advice
