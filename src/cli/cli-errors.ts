// The numbered errors of the CLI.
import { errorTable } from '#lib/error-table.ts'

export const cliErrors = errorTable({
  KN1000: {
    text: 'kubenode hit a bug',
    next: 'please report it with the lines below\n{stack}',
  },
  KN1001: {
    text: 'cannot start kubenode: it needs Node 26 or newer, found {node}',
    next: 'run npm ci in {root}, which installs one',
  },
  KN1002: {
    text: 'cannot read the command line: {why}',
    next: 'run kubenode --help, or kubenode COMMAND --help',
  },
  KN1003: {
    text: 'cannot {what}: {code}',
    next: 'correct this and try again',
  },
  KN1004: {
    text: 'cannot use {variable}={text}: {why}',
    next: 'correct the environment variable, or unset it',
  },
  KN1005: {
    text: 'cannot write to standard output: {why}',
    next: 'make room there and run the command again',
  },
  KN1006: {
    text: 'cannot start kubenode: Node 26 does not start without the library libatomic.so.1',
    next: 'install it: apt-get install libatomic1 (Debian, Ubuntu), or dnf install libatomic (RHEL, Fedora)',
  },
  KN1011: {
    text: 'cannot read {file}: {why}',
    next: 'name a file or folder that exists',
  },
  KN1012: {
    text: 'cannot lint {folder}: more than {maxFiles} files',
    next: 'name a smaller folder',
  },
  KN1013: {
    text: 'cannot lint {name}: {size} bytes, at most {maxTextBytes} are read',
    next: 'split the file',
  },
  KN1014: {
    text: 'cannot read {name}: it is not UTF-8 text',
    next: 'save it as UTF-8',
  },
  KN1015: {
    text: '{place}: cannot be read: {why}',
    next: 'correct the syntax',
  },
  KN1016: {
    text: 'cannot read {file}: it is not a regular file',
    next: 'copy its contents into one',
  },
  KN1020: {
    text: '{place}: not an object',
    next: 'write a map with apiVersion, kind and metadata',
  },
  KN1021: {
    text: '{place}: unknown kind {kind}',
    next: 'use the suggested kind',
  },
  KN1022: {
    text: '{place}: the object has no {field}',
    next: 'add it',
  },
  KN1023: {
    text: '{place}: {kind} has no metadata.name',
    next: 'give it one',
  },
  KN1024: {
    text: '{place}: not a trust document',
    next: 'make one with kubenode artifact keys trust',
  },
  KN1025: {
    text: '{place}: {problem}',
    next: 'use letters, digits and dashes as Kubernetes allows them',
  },
  KN1031: {
    text: 'cannot listen on port {text}: not a number from 0 to 65535',
    next: 'give one with --port',
  },
  KN1032: {
    text: 'cannot serve {text} too: not a port and a data folder',
    next: 'give both, such as --also 6444=.kubenode/second',
  },
  KN1050: {
    text: 'cannot bundle the agent in {root}: the bundler is not installed',
    next: 'run npm ci without --omit=dev',
  },
  KN1051: {
    text: 'cannot make the archive of agents with {node}: {why}',
    next: 'give --node a Node.js program for Linux, one for each kind of processor',
  },
  KN1101: {
    text: 'cannot pack {path}: only regular files and folders are unpacked on a node',
    next: 'remove it',
  },
  KN1102: {
    text: 'cannot pack {folder}: it contains no files',
    next: 'name a folder with files',
  },
  KN1103: {
    text: 'cannot pack {folder}: {length} entries, at most {maxFiles}',
    next: 'split it, or leave files out',
  },
  KN1104: {
    text: 'cannot read the {what} {path}: {why}',
    next: 'check the path',
  },
  KN1105: {
    text: 'cannot read the {what} {path}: {detail}',
    next: 'correct the file',
  },
  KN1106: {
    text: 'cannot use {trust}: it is not a trust document',
    next: 'make one with kubenode artifact keys trust',
  },
  KN1107: {
    text: 'cannot use {trust}: {why}',
    next: 'correct the trust document',
  },
  KN1108: {
    text: '{path} is not trusted: {why}',
    next: 'sign it with a trusted key',
  },
  KN1109: {
    text: '{artifact} has digest {digest}, which {path} does not name',
    next: 'pass the artifact that was signed, or sign this one',
  },
  KN1110: {
    text: 'cannot keep key {unknown}: sequence {sequence} trusts {known}',
    next: 'name one of these keys',
  },
  KN1111: {
    text: 'cannot sign {path} with the new key: {why}',
    next: 'check its content, then sign it by hand with kubenode artifact sign, or remove it',
  },
  KN1112: {
    text: 'cannot change the trust of {root}: there is no agent in this folder',
    next: 'name the folder of its agent with --root',
  },
  KN1113: {
    text: 'cannot pack {folder}: agents would refuse the archive: {why}',
    next: 'correct the folder, then pack it again',
  },
  KN1120: {
    text: 'cannot use {file}: {why}',
    next: 'run npm run image:lock',
  },
  KN1121: {
    text: 'cannot fetch the Debian package {name} {version}: {why}',
    next: 'run npm run image:lock if Debian has a newer version, or save {url} as {file}',
  },
  KN1122: {
    text: 'cannot use the Debian package {name}: {url} is not the file that deploy/image/debian.lock.json names',
    next: 'find out who changed it; npm run image:lock accepts a new version',
  },
  KN1123: {
    text: 'cannot use the Node.js package {name} {version}: {why}',
    next: 'check the connection to the npm registry, or run npm ci on a machine of that architecture',
  },
  KN1124: {
    text: 'cannot put {folder} into the image: it is not the package that package-lock.json names',
    next: 'run npm ci in {root}',
  },
  KN1125: {
    text: 'cannot list the packages of the image: npm sbom failed: {why}',
    next: 'install npm 10 or newer',
  },
  KN1126: {
    text: 'cannot load the image: the program ctr is not installed here',
    next: 'run this on the host of the kubelet: {command}',
  },
  KN1127: {
    text: 'cannot load {file} into containerd at {address}: {why}',
    next: 'check the socket with --address, and that you may use it',
  },
  KN1128: {
    text: 'cannot build for {text}',
    next: 'use one of {known}',
  },
  KN1130: {
    text: 'cannot read {file}: {why}',
    next: 'download it again, and compare its digest with the one that its publisher names',
  },
  KN1131: {
    text: 'cannot make a component for {wanted} from {file}: it is for {known}',
    next: 'name one of these with --arch, or download the one for your nodes',
  },
  KN1132: {
    text: 'cannot tell the {what} of {file}',
    next: 'give it with {flag}',
  },
  KN1133: {
    text: 'cannot make a component from {file}: {why}',
    next: 'choose with --take, --leave and --unit; --dry-run shows what would be made',
  },
  KN1134: {
    text: 'cannot make a component from {file}: {programs} files to install and {files} texts, at most {maxPrograms} and {maxFiles}',
    next: 'name the ones that you need with --take, or leave folders out with --leave',
  },
  KN1135: {
    text: '{statement} names another artifact for {arch}: {signed}, and this one is {found}',
    next: 'use the same download and options to make it again, or give the new content another version with --as',
  },
  KN1136: {
    text: 'cannot use {option} {text}',
    next: 'write {form}',
  },
  KN1214: {
    text: 'cannot create {text} nodes per cluster',
    next: 'give a number from 1 to {maxLocalNodes}',
  },
  KN1301: {
    text: 'cannot read the kubeconfig {file}: {why}',
    next: 'name one with --kubeconfig',
  },
  KN1302: {
    text: 'cannot tell hosts how to trust {server}: the kubeconfig names no certificate authority',
    next: 'add certificate-authority-data',
  },
  KN1303: {
    text: 'cannot run the role {r}',
    next: 'use one of {roleNames}',
  },
  KN1304: {
    text: 'cannot give {path} to hosts: it is not a valid trust document',
    next: 'make one with kubenode artifact keys trust',
  },
  KN1305: {
    text: 'cannot serve the webhook on port {webhookPort}: not a number from 0 to {maxPort}',
    next: '0 takes a free one',
  },
  KN1307: {
    text: 'cannot run the role {role}: {why}',
    next: 'run it with a kubeconfig of {identity}, or bind this user to the roles of that name (deploy/install/2-rbac.yaml)',
  },
  KN1308: {
    text: 'cannot serve metrics of {roles} on port {port}: it is one port',
    next: 'run each role as a process of its own, or leave --metrics-port out',
  },
  KN1309: {
    text: 'cannot serve metrics on port {port}: give a number from 0 to {maxPort}',
    next: '0 takes a free one',
  },
  KN1310: {
    text: 'unknown kind {word}{detail}',
    next: 'kubenode shows its own kinds only, use kubectl for others',
  },
  KN1311: {
    text: 'which {first}?',
    next: 'name it, like {first}/NAME',
  },
  KN1312: {
    text: 'which cluster? No kubeconfig is given, and this process does not run in a pod',
    next: 'name a kubeconfig with --kubeconfig or KUBECONFIG',
  },
  KN1313: {
    text: 'cannot find {what} on this server{hint}',
    next: 'list what there is with kubenode get {plural}',
  },
  KN1314: {
    text: 'cannot get the objects: the server returned {answer}',
    next: 'check the address and your permissions',
  },
  KN1315: {
    text: 'cannot list {kind}: this server does not have the kind',
    next: 'install it, or use the kubeconfig of another cluster',
  },
  KN1306: {
    text: 'cannot listen at the address of {option}: {text} is not an IP address with a port',
    next: 'give one such as 0.0.0.0:8081 or [::]:8081',
  },
  KN1316: {
    text: 'cannot serve the webhook for --webhook-service {service}',
    next: 'give NAMESPACE/NAME of the Service, and no --webhook-host',
  },
  KN1317: {
    text: 'cannot serve metrics with half of a certificate',
    next: 'give both --metrics-tls-cert and --metrics-tls-key, or neither',
  },
  KN1318: {
    text: 'cannot use --host-server {url}: not an https address',
    next: 'give one such as https://api.example.org:6443',
  },
  KN1320: {
    text: 'cannot run {roles} with one identity ({files}): a thief of it would have the powers of all of them',
    next: 'give each role its own: --kubeconfig {expected}; or accept it with --shared-identity',
  },
  KN1321: {
    text: 'cannot use the kubeconfig of role {role}: this process runs {roles}',
    next: 'leave it out, or add the role to --roles',
  },
  KN1322: {
    text: 'cannot use {file}: {role} has another kubeconfig already',
    next: 'give one kubeconfig for each role',
  },
  KN1323: {
    text: 'cannot run the role {role}: it has no kubeconfig, and this process does not run in a pod',
    next: 'add --kubeconfig {role}=FILE',
  },
  KN1324: {
    text: 'cannot tell the name of this cluster: in a pod there is no kubeconfig whose context would name it',
    next: 'add --cluster NAME, as the hub calls it',
  },
  KN1327: {
    text: 'cannot render in Jobs of the cluster: --render-image names no image (seen: {seen})',
    next: 'give --render-image the reference of the image that this program runs from, or render in a process with --render process, where the machine allows namespaces',
  },
  KN1328: {
    text: 'cannot serve artifacts: {what}',
    next: 'correct the options of role artifacts; kubenode run --help lists them',
  },
  KN1329: {
    text: 'cannot use {file} as the authority of artifacts: {why}',
    next: 'give --artifact-ca a file with certificates in PEM',
  },
  KN1330: {
    text: 'cannot freeze {what}',
    next: 'name it as {Object}, or leave it out for the whole cluster',
  },
  KN1331: {
    text: 'cannot freeze for {length}',
    next: 'write a duration such as 30m or 4h, at most 30d',
  },
  KN1332: {
    text: 'cannot lift protection for {length}',
    next: 'write a duration such as 10m, at most 24h',
  },
  KN1333: {
    text: 'cannot approve for {length}',
    next: 'write a duration such as 1h, at most 7d',
  },
  KN1334: {
    text: 'cannot approve {what}',
    next: 'name it as operationpermit/NAME, release/NAME or source/NAME',
  },
  KN1335: {
    text: 'cannot approve {what}: the server did not identify you',
    next: 'log in first',
  },
  KN1336: {
    text: 'cannot freeze or thaw a node at {path}: this is not the folder of an agent',
    next: "name the agent's folder, /var/lib/kubenode on a whole host",
  },
  KN1338: {
    text: 'cannot freeze this cluster: it has no Machine and no NodeRemedier, so nothing in it can be disrupted',
    next: 'point --kubeconfig at the cluster with the machines; to freeze this one all the same, add --even-if-absent',
  },
  KN1337: {
    text: 'cannot use --node-folder together with {what}',
    next: 'leave one of them out',
  },
  KN1340: {
    text: 'cannot find rules in {folder}: there is no such folder',
    next: 'name it with --dir',
  },
  KN1341: {
    text: 'cannot find rules in {folder}: no file ends in {ending}',
    next: 'write one beside each rule',
  },
  KN1342: {
    text: 'cannot load {file}: {why}',
    next: 'correct the file',
  },
  KN1343: {
    text: 'cannot use {file}: it does not export rule (the spec of a NodeRemedier) and cases (a list)',
    next: 'export both',
  },
  KN1344: {
    text: 'cannot read {file}: line {line}: {why}',
    next: 'correct the file',
  },
  KN1345: {
    text: 'cannot simulate {file}: it contains no Node',
    next: 'write one with kubectl get node NAME -o yaml',
  },
  KN1346: {
    text: 'cannot read {file}: {why}',
    next: 'name a file with a Node in it',
  },
  KN1347: {
    text: 'cannot simulate {file}: {kind} {detail}: {what}',
    next: 'write one with kubectl get {resource} NAME -o yaml',
  },
  KN1351: {
    text: 'cannot {verb} {what}',
    next: 'name it as node/NAME, machine/NAME or remedier/NAME',
  },
  KN1352: {
    text: 'cannot {verb} for {length}',
    next: 'write a duration such as 30m or 4h, at most 7d',
  },
  KN1353: {
    text: 'cannot explain why {what} is not repaired',
    next: 'name a node, like node/NAME',
  },
  KN1354: {
    text: 'cannot repair {what}: no rule matches a node of it, so there is nothing to retry',
    next: 'see kubenode why-not; use --even-if-absent to request it anyway',
  },
  KN1326: {
    text: 'cannot read --certificate-life {text}',
    next: 'give a duration from 1h to 365d, such as 7d',
  },
  KN1360: {
    text: 'cannot print the join command of {name}: {why}',
    next: 'see kubenode why for this machine',
  },
  KN1365: {
    text: 'cannot print the join command of {name}: {why}',
    next: 'hosts that have the files of kubenode agent bundle need neither: --offline',
  },
  KN1361: {
    text: 'import which Nodes?',
    next: 'name them, or give --selector, or --all',
  },
  KN1362: {
    text: 'cannot print {output}',
    next: 'use yaml only',
  },
  KN1367: {
    text: 'cannot use --join-script {value}: it is no SHA-256 in hexadecimal digits',
    next: 'give the one that kubenode agent bundle prints for join.sh',
  },
  KN1368: {
    text: 'cannot read the join script {file}: {why}',
    next: 'give --join-script the join.sh that kubenode agent bundle made',
  },
  KN1366: {
    text: 'cannot print a line for hosts: {why}',
    next: 'correct the option',
  },
  KN1363: {
    text: 'cannot readmit machines: {why}',
    next: 'see kubenode machine readmit --help',
  },
  KN1364: {
    text: 'cannot revoke keys: {why}',
    next: 'see kubenode machine revoke --help',
  },
  KN1370: {
    text: 'cannot hold {what}: name it as {Object}',
    next: 'kubenode freeze holds whole clusters',
  },
  KN1371: {
    text: 'cannot hold for {length}',
    next: 'write a duration such as 30m or 4h, at most 30d',
  },
  KN1372: {
    text: 'cannot find {revision} of set/{name}',
    next: 'name one with --to: {known}',
  },
  KN1373: {
    text: 'canary/{name} is promoted already: set/{promotedBy} declares its versions',
    next: 'remove the canary from the fleet',
  },
  KN1374: {
    text: 'cannot promote canary/{name}: it is {phase}{detail}',
    next: 'run kubenode canary status {name}',
  },
  KN1375: {
    text: 'cannot promote canary/{name}: no set declares {names} in another version',
    next: 'add the components to a set by a commit',
  },
  KN1376: {
    text: 'cannot roll back now without a reason',
    next: 'give one with --reason; it is shown to others while the set is pinned',
  },
  KN1377: {
    text: 'cannot adopt {name}: {why}',
    next: 'then run this command again',
  },
  KN1379: {
    text: 'cannot let inspections ask {url}',
    next: 'write an origin such as http://prometheus.monitoring:9090',
  },
  KN1390: {
    text: 'cannot restore or allow edits of {what}',
    next: 'name set/NAME, machineset/NAME, canary/NAME, remedier/NAME or policy/NAME',
  },
  KN1392: {
    text: 'nothing to do for {what}: git does not declare it, or its source does not correct drift',
    next: 'edits of it take effect at once',
  },
  KN1393: {
    text: 'cannot restore {what}: the cluster has no copy of the version in git',
    next: 'apply it from the repository, or wait for sync',
  },
  KN1394: {
    text: 'cannot allow the edit for {length}',
    next: 'write a duration such as 30m or 8h, at most 7d',
  },
  KN1395: {
    text: 'cannot allow {digest}: the content of {what} is {found} now',
    next: 'kubenode trace {what} shows who wrote it',
  },
  KN1397: {
    text: 'cannot allow an edit of {what}: it is in sync with git',
    next: 'edit it first, then allow the digest that kubenode why shows',
  },
  KN1398: {
    text: 'nothing to retry: release/{name} is {phase}, and none of its clusters failed',
    next: 'kubenode why release/{name}',
  },
  KN1399: {
    text: 'cannot restore {what}: it was edited again just now',
    next: 'check the newer edit, then run the command again',
  },
})
