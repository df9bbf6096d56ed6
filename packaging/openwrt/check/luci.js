// Loads LuCI's modules as LuCI does, with stand-ins for its libraries that keep what they are given, and renders them.
//
//   node check/luci.js FOLDER STATUS
//
// STATUS is what `overheard status --json` says of a real node. The options that the form offers are printed, each with its
// section: `overheard uci` has to know them.
'use strict';
const assert = require('assert');
const fs = require('fs');
const path = require('path');

const [ folder, statusFile ] = process.argv.slice(2);
const said = fs.readFileSync(statusFile, 'utf8');
const status = said.split('\n').filter(Boolean).map((line) => JSON.parse(line)).filter((it) => it.node);
const offered = [];

String.prototype.format = function(...values) {
	return this.replace(/%(\.\d+)?(1024m)?([a-z%])/g, (all, digits, binary, kind) => {
		if (kind == '%') return '%';
		const value = values.shift();
		assert(value !== undefined && !Number.isNaN(value), `${this}: a value is missing`);
		return kind == 'f' ? Number(value).toFixed(Number((digits || '.0').slice(1))) : String(value);
	});
};

const E = (name, ...rest) => {
	const isChild = (it) => Array.isArray(it) || typeof it != 'object' || it.text !== undefined;
	const children = rest.length > 1 || isChild(rest[0]) ? rest.pop() : [];
	const text = [ children ].flat(9).map((child) => (child && child.text !== undefined ? child.text : String(child)));
	return { name, text: text.join(' '), replaceChildren() {} };
};
class Section {
	constructor(type) { this.type = type; }
	option(widget, name) { offered.push([ this.type, name ]); return { value() {} }; }
	taboption(tab, widget, name) { return { value() {} }; }
}
const form = {
	Map: class { section(widget, type) { return new Section(type); } render() { return offered; } },
};
const modules = {
	form,
	fs: { exec_direct: (program, words) => {
		assert.deepStrictEqual([ program, words ], [ '/usr/bin/overheard', [ 'status', '--json' ] ]);
		return Promise.resolve(said);
	} },
	network: { registerProtocol: (name, protocol) => ({ name, protocol }), getIfnameOf: (it) => it },
	poll: { add() {} },
	uci: { load: () => Promise.resolve(), sections: () => [ { '.name': 'overheard0' } ] },
	view: { extend: (it) => it },
};

function load(file) {
	const source = fs.readFileSync(path.join(folder, 'htdocs/luci-static/resources', file), 'utf8');
	const needed = [ ...source.matchAll(/^'require (\w+)';$/gm) ].map((it) => it[1]);
	for (const name of needed) assert(modules[name], `${file} requires ${name}`);
	return new Function(...needed, 'E', '_', 'L', source)(...needed.map((name) => modules[name]), E, (it) => it,
		{ url: (it) => it });
}

async function all() {
	const page = load('view/overheard/status.js');
	assert(status.length > 0, 'a node runs');
	const shown = page.render(await page.load()).text;
	for (const peer of status.flatMap((report) => report.node.peers))
		assert(shown.includes(peer.name), `${peer.name} is not in: ${shown}`);
	assert(!/undefined|NaN|\[object/.test(shown), shown);
	assert(page.render([]).text.includes('No tunnel runs'));

	const tunnels = load('view/overheard/tunnels.js');
	await tunnels.load();
	tunnels.render();
	assert(offered.length > 15, 'the form has options');

	const { name, protocol } = load('protocol/overheard.js');
	assert.strictEqual(name, 'overheard');
	protocol.renderFormOptions(new Section('interface'));
	assert.strictEqual(protocol.getIfname.call({ _ubus: () => null, sid: 'overheard0' }), 'overheard0');
	for (const [ section, option ] of offered) console.log(section, option);
}

all().catch((why) => { console.error(why); process.exit(1); });
